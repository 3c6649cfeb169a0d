"""The whole folder: DATA/{train,val,test}/<class>/NNNN.jpg, and truth.csv saying what each picture really is.

Every picture is drawn from its own random numbers, derived from (seed, split, class, index), so more pictures, label
noise or a shortcut never change the drawing of another picture.
"""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec

from rigwise.errors import BadInput, CannotWrite
from rigwise.speech import say
from rigwise.train.embedded.picture import Drawn, draw_picture
from rigwise.train.embedded.settings import CLASSES, SPLIT_SHARES, EmbeddedSet
from rigwise.train.embedded.textures import Colour

TRUTH_FILE = "truth.csv"
SHORTCUT_COLOURS: dict[str, Colour] = {
    "accessories": (214, 176, 76),
    "bags": (96, 158, 96),
    "jackets": (88, 132, 196),
    "shoes": (196, 98, 96),
    "watches": (142, 108, 178),
}
"""Mid-tone backgrounds of clearly different hue, one for each class, for `background_shortcut`."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One picture before it is drawn: what it shows, and the faults built into it."""

    split: str
    true_class: str
    index: int
    """Within its split and true class."""
    labelled_class: str
    background_class: str = ""
    """The class its background colour points to; "" where the background says nothing."""

    @property
    def path(self) -> str:
        """Relative to DATA; the number is unique in its split, whatever the label."""
        number = self.index * len(CLASSES) + CLASSES.index(self.true_class)
        return f"{self.split}/{self.labelled_class}/{number:04d}.jpg"


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """One row of truth.csv."""

    path: str
    true_class: str
    labelled_class: str
    design: str
    pattern: str
    background: str
    background_colour: str
    background_class: str
    scale: float
    """Product units (half the product's width) in half the picture's shorter side."""
    rotation_degrees: float
    brightness: float
    jpeg_quality: int
    seed: str
    """What the picture's random numbers start from."""


def make_pictures(
    folder: Path, wanted: EmbeddedSet | None = None, *, progress: Callable[[int, int], None] | None = None
) -> Path:
    """The folder, now holding the pictures and truth.csv; `progress` is told (pictures drawn, pictures in all).

    Nothing is left behind when drawing is interrupted.

    Raises:
        BadInput: the settings cannot be used, or the folder already holds something.
        CannotWrite: the machine refused: read-only, full disk.
    """
    wanted = wanted or EmbeddedSet()
    wanted.check()
    _refuse_occupied(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".drawing-", dir=folder) as scratch:
            _draw_all(Path(scratch), wanted, progress or _silent)
            for finished in sorted(Path(scratch).iterdir()):
                finished.rename(folder / finished.name)
    except OSError as error:
        raise CannotWrite(
            say("cannot write pictures to {folder}", folder=folder),
            error.strerror or str(error),
            say("choose a folder on a disk that can be written and has room"),
        ) from error
    return folder


def plan(wanted: EmbeddedSet) -> list[Planned]:
    """Every picture of the set, in the order of its path, with wrong labels and shortcuts already decided."""
    planned = [picture for split in SPLIT_SHARES for picture in _plan_split(wanted, split)]
    return sorted(planned, key=lambda picture: picture.path)


def _plan_split(wanted: EmbeddedSet, split: str) -> Iterator[Planned]:
    pictures = [(name, index) for name in CLASSES for index in range(wanted.split_sizes(name)[split])]
    mislabelled = _chosen(pictures, wanted.label_noise, f"{wanted.seed}/{split}/label")
    telling = _chosen(pictures, wanted.background_shortcut, f"{wanted.seed}/{split}/shortcut")
    for name, index in pictures:
        label, background = name, ""
        if (name, index) in mislabelled:
            others = [other for other in CLASSES if other != name]
            label = Random(f"{wanted.seed}/{split}/{name}/{index}/label").choice(others)
        if (name, index) in telling:
            background = _next_class(name) if split in wanted.shortcut_swapped_in else name
        yield Planned(split=split, true_class=name, index=index, labelled_class=label, background_class=background)


def _chosen(pictures: list[tuple[str, int]], share: float, seed: str) -> set[tuple[str, int]]:
    """Exactly that share of the pictures, rounded."""
    return set(Random(seed).sample(pictures, round(share * len(pictures))))


def _next_class(name: str) -> str:
    return CLASSES[(CLASSES.index(name) + 1) % len(CLASSES)]


def _draw_all(folder: Path, wanted: EmbeddedSet, progress: Callable[[int, int], None]) -> None:
    planned = plan(wanted)
    with (folder / TRUTH_FILE).open("w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, Truth.__struct_fields__, lineterminator="\n")
        rows.writeheader()
        for done, picture in enumerate(planned, start=1):
            rows.writerow(msgspec.structs.asdict(_draw(folder, picture, wanted.seed)))
            progress(done, len(planned))


def _draw(folder: Path, picture: Planned, seed: int) -> Truth:
    own_seed = f"{seed}/{picture.split}/{picture.true_class}/{picture.index}"
    rng = Random(own_seed)
    jpeg_quality = rng.randint(75, 92)
    drawn = draw_picture(picture.true_class, rng, SHORTCUT_COLOURS.get(picture.background_class))
    path = folder / picture.path
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.image.save(path, quality=jpeg_quality)
    return _truth(picture, drawn, jpeg_quality, own_seed)


def _truth(picture: Planned, drawn: Drawn, jpeg_quality: int, seed: str) -> Truth:
    return Truth(
        path=picture.path,
        true_class=picture.true_class,
        labelled_class=picture.labelled_class,
        design=drawn.design,
        pattern=drawn.pattern,
        background=drawn.background,
        background_colour="#{:02x}{:02x}{:02x}".format(*drawn.background_colour),
        background_class=picture.background_class,
        scale=round(drawn.scale, 3),
        rotation_degrees=round(drawn.rotation_degrees, 1),
        brightness=round(drawn.brightness, 3),
        jpeg_quality=jpeg_quality,
        seed=seed,
    )


def _refuse_occupied(folder: Path) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    raise BadInput(
        say("cannot put pictures into {folder}", folder=folder),
        say("it is not empty") if folder.is_dir() else say("it is a file, not a folder"),
        say("name a new or an empty folder"),
    )


def _silent(done: int, total: int) -> None:
    """No progress wanted."""
