"""A folder of checkpoints, for any training loop.

    checkpoints = rigwise.Checkpoints("checkpoints", every_seconds=300)
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    found = checkpoints.restore(**parts)
    step = found.step if found else 0
    for batch in batches_from(step):
        train(batch)
        step += 1
        if checkpoints.due(step):
            checkpoints.save(step=step, batch_size=32, **parts)

An interrupted program that is started again goes on where it was. Nothing here goes on from scratch where something was
saved: what cannot be read, or does not fit, is an error.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rigwise.errors import BadInput, CannotTell
from rigwise.speech import say
from rigwise.train.checkpoint.checkpoint import Checkpoint, must_replay
from rigwise.train.checkpoint.checkpoint_file import (
    DAMAGED,
    Damaged,
    checkpoint_files,
    read_checkpoint,
    remove_unfinished,
    step_of,
    write_checkpoint,
)
from rigwise.train.checkpoint.parts import Stateful, put_back, states_of
from rigwise.train.checkpoint.random_state import random_state, same_random_state, set_random_state

NUM_KEPT = 2
"""Checkpoints kept: the last, and the one before should the last turn out damaged."""
FORMAT = 1


class Checkpoints:
    """The checkpoints of one training, in a folder of their own: the last two are kept."""

    def __init__(
        self,
        folder: Path | str,
        *,
        every_steps: int = 0,
        every_seconds: float = 300.0,
        fingerprint: Mapping[str, str] | None = None,
        writes: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """The checkpoints in `folder`, which need not exist.

        Args:
            folder: theirs alone.
            every_steps: optimiser steps between two; 0 means that steps do not make one due.
            every_seconds: the same in seconds.
            fingerprint: what must be equal when it goes on: recipe, data, model, by name.
            writes: False on every rank but the first of a job of several: they restore and never write.
            clock: seconds, of any origin.
        """
        self.folder = Path(folder)
        self.num_saved = 0
        self.seconds = 0.0
        """Spent saving, by this process."""
        self.size_bytes = 0
        """Of the last one saved."""
        self._every_steps = every_steps
        self._every_seconds = every_seconds
        self._fingerprint = dict(fingerprint or {})
        self._writes = writes
        self._clock = clock
        self._last_step = 0
        self._last_at = clock()
        self._goes_on = False

    def due(self, step: int) -> bool:
        """Whether a checkpoint is due after optimiser step number `step`; takes less than a microsecond."""
        if self._every_steps and step - self._last_step >= self._every_steps:
            return True
        return bool(self._every_seconds) and self._clock() - self._last_at >= self._every_seconds

    def save(
        self,
        *,
        step: int,
        batch_size: int,
        accumulation: int = 1,
        samples_seen: int | None = None,
        values: Mapping[str, Any] | None = None,
        replay: Callable[[], float] | None = None,
        **parts: Stateful,
    ) -> Path | None:
        """The file that now holds the state of every part and every random generator; None on ranks that never write.

        It is written beside the others, read back from the disk and checked before the oldest one goes.

        Args:
            step: optimiser steps taken.
            batch_size: samples at once.
            accumulation: batches of one optimiser step, over all processes.
            samples_seen: trained on so far; where not given, as if every step had seen the same number.
            values: numbers, text, lists, dicts and tensors of your own, given back by `restore`.
            replay: a loss that depends on nothing but the parts, say of a fixed batch in evaluation mode. `restore`
                computes it again and compares.
            parts: model, optimiser, schedule, scaler, loader: whatever has `state_dict` and `load_state_dict`.

        Raises:
            CannotWrite: no space, read-only; earlier checkpoints are still there, and training may go on.
            BadInput: something cannot be kept, or the folder holds checkpoints that were not restored.
        """
        with self._timed(step):
            if not self._writes:
                return None
            self._refuse_foreign(step)
            seen = step * batch_size * accumulation if samples_seen is None else samples_seen
            place = {"step": step, "samples_seen": seen, "batch_size": batch_size, "accumulation": accumulation}
            state = self._state(replay, parts)
            path = write_checkpoint(self.folder, step, {**place, "values": dict(values or {}), **state})
            self._keep(path)
            return path

    def latest(self) -> Checkpoint | None:
        """The newest that is whole; None where none was ever saved.

        Raises:
            CannotTell: there are some, and none of them is whole.
        """
        found = self._newest()
        return None if found is None else found[0]

    def restore(self, *, replay: Callable[[], float] | None = None, **parts: Stateful) -> Checkpoint | None:
        """The newest whole checkpoint, its state put into every part and random generator; None where none was saved.

        Args:
            replay: as given to `save`; its loss must be what it was.
            parts: the same, by the same names, as were saved.

        Raises:
            BadInput: it is of another recipe, model or data; says the first difference. Nothing was changed.
            CannotTell: none is whole, or the loss is not what it was.
        """
        found = self._newest()
        if found is None:
            self._goes_on = True
            return None
        checkpoint, content = found
        self._must_be_of_this(content, checkpoint.path)
        put_back(content["parts"], parts)
        set_random_state(content["random"])
        if replay is not None and checkpoint.replay_loss is not None:
            with same_random_state():
                must_replay(checkpoint.replay_loss, float(replay()), checkpoint.path)
        self._last_step, self._last_at, self._goes_on = checkpoint.step, self._clock(), True
        if self._writes:
            self._tidy(checkpoint.path)
        return checkpoint

    def remove(self) -> None:
        """Remove every checkpoint, and the folder if nothing else is in it."""
        for path in [*checkpoint_files(self.folder), *self.folder.glob(f"step*{DAMAGED}")]:
            path.unlink(missing_ok=True)
        remove_unfinished(self.folder)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _newest(self) -> tuple[Checkpoint, dict[str, Any]] | None:
        damaged: list[str] = []
        for path in checkpoint_files(self.folder):
            try:
                content = read_checkpoint(path)
            except Damaged as error:
                damaged.append(say("{name}: {why}", name=path.name, why=error))
                continue
            return _told(path, content, damaged), content
        damaged += [say("{name}: was damaged", name=path.name) for path in self.folder.glob(f"step*{DAMAGED}")]
        if not damaged:
            return None
        raise CannotTell(
            say("no checkpoint in {folder} can be used", folder=self.folder),
            "\n".join(damaged),
            say("start anew in another folder; what these held is lost"),
        )

    def _must_be_of_this(self, content: Mapping[str, Any], path: Path) -> None:
        saved = {"format": str(content["format"]), **content["fingerprint"]}
        here = {"format": str(FORMAT), **self._fingerprint}
        for name in [*here, *saved]:
            if saved.get(name) != here.get(name):
                raise BadInput(
                    say("{path} is a checkpoint of another training", path=path),
                    say(
                        "{name} was {before}, and is {now} here", name=name, before=saved.get(name), now=here.get(name)
                    ),
                    say("train with what it was, or start anew in another folder"),
                )

    def _refuse_foreign(self, step: int) -> None:
        """A folder of later steps that nobody restored: training from scratch would mix with it."""
        if self._goes_on or not (files := checkpoint_files(self.folder)):
            return
        raise BadInput(
            say("{folder} holds checkpoints of a training that was not restored", folder=self.folder),
            say("the last is of step {last}, and this is step {step}", last=step_of(files[0]), step=step),
            say("call restore() before the first step, or give an empty folder"),
        )

    def _tidy(self, newest: Path) -> None:
        """Damaged files later than `newest` get another name, so that they are never counted among the last two."""
        files = checkpoint_files(self.folder)
        with contextlib.suppress(OSError):  # a read-only folder, which nothing is saved to either
            remove_unfinished(self.folder)
            for damaged in files[: files.index(newest)]:
                damaged.rename(damaged.with_suffix(DAMAGED))

    @contextlib.contextmanager
    def _timed(self, step: int) -> Iterator[None]:
        """Counts what a save takes; when it fails, the next is due one interval later."""
        began = self._clock()
        try:
            yield
        finally:
            self._last_step, self._last_at = step, self._clock()
            self.seconds += self._last_at - began

    def _state(self, replay: Callable[[], float] | None, parts: Mapping[str, Stateful]) -> dict[str, Any]:
        with same_random_state():
            replay_loss = None if replay is None else float(replay())
        return {
            "format": FORMAT,
            "fingerprint": self._fingerprint,
            "replay_loss": replay_loss,
            "random": random_state(),
            "parts": states_of(parts),
        }

    def _keep(self, path: Path) -> None:
        """Count the file that was saved, and remove all but it and the last one before."""
        self._goes_on = True
        self.num_saved += 1
        self.size_bytes = path.stat().st_size
        others = [one for one in checkpoint_files(self.folder) if one != path]
        for old in others[NUM_KEPT - 1 :]:
            old.unlink(missing_ok=True)


def _told(path: Path, content: Mapping[str, Any], damaged: list[str]) -> Checkpoint:
    told = ("step", "samples_seen", "batch_size", "accumulation", "values", "replay_loss")
    return Checkpoint(path=path, damaged=tuple(damaged), **{name: content[name] for name in told})
