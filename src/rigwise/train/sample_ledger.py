"""The list of samples a run folder keeps, so that a repeat notices a change: what pictures.tsv and texts.tsv share.

The first line names DATA, the second the columns; then one sample a line. Names are percent-encoded bytes, so that any
file name survives.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import quote_from_bytes, unquote_to_bytes

from rigwise.errors import BadInput
from rigwise.speech import say

SPLITS = ("train", "val", "test")
_ROOT = "# root\t"


class InSplit(Protocol):
    """What a run recorded of one sample."""

    @property
    def split(self) -> str:
        """One of `SPLITS`."""


R = TypeVar("R", bound=InSplit)
S = TypeVar("S")


def ledger_text(root: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The whole file; the cells of a row are as they shall stand there."""
    lines = [_ROOT + quoted(home_relative(root)), "# " + "\t".join(columns), *map("\t".join, rows)]
    return "\n".join(lines) + "\n"


def read_ledger(path: Path, row: Callable[[Sequence[str]], tuple[str, R]]) -> tuple[Path, dict[str, R]]:
    """DATA, and name -> what was recorded of each sample.

    Args:
        path: of the file.
        row: the cells of a line to the name of a sample and its record; a ValueError says that they are damaged.

    Raises:
        BadInput: the file is missing or damaged.
    """
    try:
        root, _, *lines = path.read_text("utf-8").splitlines()
        recorded = dict(row(line.split("\t")) for line in lines)
        strange = {each.split for each in recorded.values()} - set(SPLITS)
        if strange:
            raise ValueError(say("{split} is no split", split=repr(min(strange))))
        return Path(plain(root.removeprefix(_ROOT))).expanduser(), recorded
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: `~`, and there is no home folder
        raise BadInput(
            say("cannot repeat from {folder}", folder=path.parent),
            say("{name} is missing or damaged: {error}", name=path.name, error=error),
            say("give a run folder that `rigwise train` made, or start anew: rigwise train DATA"),
        ) from error


def as_recorded(
    splits: Mapping[str, Sequence[S]], name_of: Callable[[S], str], recorded: Mapping[str, InSplit]
) -> dict[str, tuple[S, ...]]:
    """The samples in the splits and the order they had; a new one stays where the rule puts it."""
    placed: dict[str, list[S]] = {split: [] for split in SPLITS}
    for split in SPLITS:
        for sample in splits[split]:
            before = recorded.get(name_of(sample))
            placed[before.split if before else split].append(sample)
    order = {name: place for place, name in enumerate(recorded)}
    for samples in placed.values():
        samples.sort(key=lambda sample: order.get(name_of(sample), len(order)))
    return {split: tuple(samples) for split, samples in placed.items()}


def home_relative(path: Path) -> str:
    """An absolute path with the home folder written as `~`: no user name, still usable."""
    absolute = path.absolute()
    try:
        return f"~/{absolute.relative_to(Path.home())}"
    except (ValueError, RuntimeError):  # it lies elsewhere; this user has no home folder
        return str(absolute)


def quoted(name: str) -> str:
    """A name as percent-encoded bytes."""
    return quote_from_bytes(name.encode("utf-8", "surrogateescape"), safe="/ ~")


def plain(name: str) -> str:
    """What `quoted` was given."""
    return unquote_to_bytes(name).decode("utf-8", "surrogateescape")
