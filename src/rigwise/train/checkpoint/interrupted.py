"""What an interrupted run left, and why it cannot go on where it cannot. No torch here: bad input is said at once."""

from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.records.run import RunRecord
from rigwise.speech import say
from rigwise.telemetry.reading import load_run
from rigwise.train.checkpoint.run_lock import RunLock
from rigwise.train.pictures.picture_ledger import FILE_NAME
from rigwise.train.repeat import Earlier, read_earlier
from rigwise.train.text.ledger import FILE_NAME as TEXTS


class Interrupted(msgspec.Struct, frozen=True, kw_only=True):
    """A run to go on with."""

    run: RunRecord
    """What it recorded."""
    earlier: Earlier
    """Its recipe and its pictures."""
    repeats: Earlier | None = None
    """The run that it repeats, if it does."""

    @property
    def folder(self) -> Path:
        """Where it goes on."""
        return self.earlier.folder

    @property
    def lacks_batch(self) -> bool:
        """Whether a batch size was to be searched, and none had been found and written into the recipe."""
        search = self.run.batch_search
        return self.run.asked.find_batch and (
            search is None or search.batch_size != self.earlier.recipe.training.batch_size
        )

    @property
    def lacks_lr(self) -> bool:
        """Whether a learning rate was to be searched, and the sweep had not ended."""
        return self.run.asked.find_lr and self.run.lr_search is None


def read_interrupted(folder: Path) -> Interrupted:
    """What a run folder holds to go on with.

    Raises:
        BadInput: it is no run folder, one without checkpoints, in use, or a file it needs is missing or damaged.
        CannotWrite: it cannot be written on.
    """
    run = load_run(folder)
    if not run.resume_command:
        raise _without_checkpoints(folder, has_begun=any((folder / name).exists() for name in (FILE_NAME, TEXTS)))
    if not run.finished:
        RunLock(folder).release()  # said now rather than after torch was imported
    repeats = read_earlier(Path(run.asked.repeats)) if run.asked.repeats else None
    return Interrupted(run=run, earlier=read_earlier(folder), repeats=repeats)


def _without_checkpoints(folder: Path, *, has_begun: bool) -> BadInput:
    return BadInput(
        say("{folder} cannot be resumed", folder=folder),
        say("it keeps no checkpoints: an older rigwise made it, or it ended before its first second"),
        say("repeat it from the start: rigwise train --from {folder}", folder=folder)
        if has_begun
        else say("start anew: rigwise train DATA"),
    )
