"""The whole folder: DATA/{train,val,test}/<class>/NNNN.jpg, and truth.csv saying what each picture really is.

Every picture is drawn from its own random numbers, derived from (seed, split, class, index), so more pictures, label
noise or a shortcut never change the drawing of another picture.
"""

import csv
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec

from rigwise.errors import BadInput, CannotWrite
from rigwise.speech import say
from rigwise.train.embedded.picture import draw_picture
from rigwise.train.embedded.plan import Planned, plan
from rigwise.train.embedded.settings import EmbeddedSet
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


class Truth(Planned, frozen=True, kw_only=True):
    """One row of truth.csv: the plan, and what was drawn."""

    design: str
    pattern: str
    background: str
    background_colour: str
    """As #rrggbb, before light and camera."""
    scale: float
    """About the share of the picture's shorter side that the product spans."""
    rotation_degrees: float
    brightness: float
    jpeg_quality: int


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
    try:
        _refuse_occupied(folder)
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


def already_drawn(folder: Path, wanted: EmbeddedSet) -> bool:
    """Whether the folder holds exactly this set: truth.csv says what is planned, and every picture is there."""
    try:
        with (folder / TRUTH_FILE).open(newline="", encoding="utf-8") as file:
            found = [{name: row.get(name) for name in Planned.__struct_fields__} for row in csv.DictReader(file)]
    except (OSError, ValueError, csv.Error):
        return False
    planned = [msgspec.structs.asdict(picture) for picture in plan(wanted)]
    return found == planned and all((folder / row["path"]).is_file() for row in planned)


def _draw_all(folder: Path, wanted: EmbeddedSet, progress: Callable[[int, int], None]) -> None:
    planned = plan(wanted)
    with (folder / TRUTH_FILE).open("w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, Truth.__struct_fields__, lineterminator="\n")
        rows.writeheader()
        for done, picture in enumerate(planned, start=1):
            rows.writerow(msgspec.structs.asdict(_draw(folder, picture)))
            progress(done, len(planned))


def _draw(folder: Path, picture: Planned) -> Truth:
    rng = Random(picture.seed)
    jpeg_quality = rng.randint(75, 92)
    drawn = draw_picture(picture.true_class, rng, SHORTCUT_COLOURS.get(picture.background_class))
    path = folder / picture.path
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.image.save(path, quality=jpeg_quality)
    return Truth(
        **msgspec.structs.asdict(picture),
        design=drawn.design,
        pattern=drawn.pattern,
        background=drawn.background,
        background_colour="#{:02x}{:02x}{:02x}".format(*drawn.background_colour),
        scale=round(drawn.scale, 3),
        rotation_degrees=round(drawn.rotation_degrees, 1),
        brightness=round(drawn.brightness, 3),
        jpeg_quality=jpeg_quality,
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
