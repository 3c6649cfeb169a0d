"""The checkpoints of a run: one folder for each trial, and what an interrupted run left of its trials."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.records.run import Resumption, RunRecord, Step, TrialCheckpoints, TrialResult
from rigwise.speech import say
from rigwise.telemetry.writer import RunWriter
from rigwise.train.checkpoint.checkpoint import Checkpoint
from rigwise.train.checkpoint.checkpoints import Checkpoints
from rigwise.train.progress import Progress
from rigwise.train.recipe_sections import SECTIONS, CheckpointsSection, Recipe

FOLDER = "checkpoints"
OUT_OF_MEMORY = "out of memory"
"""The kind of event that says of a trial, by name, that memory ran out."""
FREE_TO_CHANGE = {"loader", "audit", "ceilings", "checkpoints"}
"""Sections of a recipe that decide nothing of what a trial computes."""


class RunCheckpoints:
    """Where the trials of a run are saved, and what was recorded of them before the run was interrupted."""

    def __init__(
        self,
        run_folder: Path,
        section: CheckpointsSection,
        writer: RunWriter,
        progress: Progress,
        recorded: RunRecord | None = None,
    ) -> None:
        """The checkpoints of the run in `run_folder`; `recorded` is what an interrupted run left in it."""
        self.folder = run_folder / FOLDER
        self.section = section
        self.writer = writer
        self.progress = progress
        self.recorded = recorded
        """What an earlier process of this run recorded; None where this is the first."""
        self._rows = {row.name: row for row in recorded.trials} if recorded else {}
        self._steps = recorded.steps if recorded else ()
        self._events = recorded.events if recorded else ()
        self._resumptions = recorded.resumptions if recorded else ()
        self._costs = {cost.trial: cost for cost in recorded.checkpoints} if recorded else {}
        self._resumed = recorded is not None

    def of(self, trial: str, fingerprint: Mapping[str, str]) -> Checkpoints:
        """Those of one trial."""
        return Checkpoints(
            self.folder / re.sub(r"[^\w.-]+", "-", trial),
            every_steps=self.section.every_steps,
            every_seconds=self.section.every_seconds,
            fingerprint=fingerprint,
        )

    def row(self, trial: str) -> TrialResult | None:
        """The row an earlier process recorded of this trial."""
        return self._rows.get(trial)

    def ran_out(self, trial: str) -> bool:
        """Whether an earlier process ran out of memory in this trial."""
        return any(event.kind == OUT_OF_MEMORY and event.text.startswith(f"{trial}: ") for event in self._events)

    def steps(self, trial: str, until: int) -> tuple[Step, ...]:
        """The first steps of this trial, as an earlier process recorded them."""
        return tuple(step for step in self._steps if step.trial == trial and step.step <= until)

    def cost(self, trial: str, device: str) -> TrialCheckpoints:
        """What checkpoints of this trial took so far.

        Raises:
            BadInput: an earlier process of this run trained on another type of device.
        """
        other = next((cost for cost in self._costs.values() if cost.device != device), None)
        if other is not None:
            raise BadInput(
                say("{run} cannot go on: it trained on another device", run=self.folder.parent),
                say(
                    "{trial} ran on {before}, and now it would be {now}",
                    trial=other.trial,
                    before=other.device,
                    now=device,
                ),
                say("see why: rigwise check; or repeat it: rigwise train --from {run}", run=self.folder.parent),
            )
        nothing = dict.fromkeys(("num_saved", "num_failed", "last_step", "size_bytes"), 0)
        return self._costs.get(trial) or TrialCheckpoints(trial=trial, device=device, seconds=0.0, **nothing)

    def note(self, cost: TrialCheckpoints) -> None:
        """Keep what the checkpoints of a trial took."""
        self._costs[cost.trial] = cost
        self.writer.fact("checkpoints", tuple(self._costs.values()))
        self.writer.flush()  # whoever goes on must know that there is one

    def note_resumed(self, trial: str, found: Checkpoint | None) -> None:
        """Say where the run goes on, if it was interrupted: once, in the first trial that has steps left."""
        recorded = self.steps(trial, until=2**63)
        step = found.step if found else 0
        last = max(step, recorded[-1].step if recorded else 0)
        self._note(trial, step, last, _resumed_words(trial, step, last - step, found.damaged if found else ()))

    def note_trials_ended(self) -> None:
        """Say that no trial had steps left, if the run was interrupted only after them."""
        self._note("", 0, 0, say("every trial had ended; what follows them was made again"))

    def _note(self, trial: str, step: int, last: int, sentence: str) -> None:
        if not self._resumed:
            return
        self._resumed = False
        resumption = Resumption(
            at=self.writer.elapsed(), trial=trial, step=step, interrupted_at_step=last, text=sentence
        )
        self._resumptions = (*self._resumptions, resumption)
        self.writer.fact("resumptions", self._resumptions)
        self.writer.event("resumed", sentence)
        self.progress.tell(sentence)

    def remove(self) -> None:
        """Remove all of them: the run is finished."""
        for folder in sorted(self.folder.glob("*/")):
            Checkpoints(folder).remove()
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


def _resumed_words(trial: str, step: int, num_again: int, damaged: Sequence[str]) -> str:
    """Where a run goes on, in one sentence."""
    sentence = say("{trial} goes on after step {step}", trial=trial, step=step)
    if step == 0:
        sentence = say("{trial} begins at its first step", trial=trial)
    if num_again:
        sentence = say("{sentence}; {count} step(s) are taken again", sentence=sentence, count=num_again)
    if damaged:
        why = "; ".join(damaged)
        sentence = say("{sentence}; a later checkpoint cannot be used: {why}", sentence=sentence, why=why)
    return sentence


def recipe_fingerprint(recipe: Recipe) -> dict[str, str]:
    """Every value of the recipe that decides what a trial computes, by name."""
    sections = {name: getattr(recipe, name) for name in SECTIONS if name not in FREE_TO_CHANGE}
    return {
        f"{name}.{key}": repr(value)
        for name, section in sections.items()
        for key, value in msgspec.structs.asdict(section).items()
    }
