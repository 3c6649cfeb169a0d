"""`rigwise demo`: draws the embedded pictures, or writes the embedded notes, and runs the guided experiment on them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigwise.cli.console import ScreenProgress
from rigwise.cli.extras import TRAINING, need_extra
from rigwise.cli.options import AsJson
from rigwise.cli.train import run_and_show
from rigwise.errors import ExitCode
from rigwise.speech import say

if TYPE_CHECKING:
    from rigwise.train.embedded import EmbeddedSet

PICTURES_FOLDER = Path("demo")
NOTES_FOLDER = Path("demo-text")


def demo(
    pictures: Annotated[
        Path, typer.Option("--pictures", metavar="DIR", help=say("Where the pictures or notes are made, once."))
    ] = PICTURES_FOLDER,
    out: Annotated[Path | None, typer.Option("--out", metavar="RUN", help=say("Run folder to make."))] = None,
    per_class: Annotated[int, typer.Option("--per-class", help=say("Pictures drawn per class."))] = 200,
    label_noise: Annotated[float, typer.Option("--label-noise", help=say("Share of wrong labels, 0 to 1."))] = 0.0,
    imbalance: Annotated[
        float, typer.Option("--imbalance", help=say("How many times larger the largest class is than the smallest."))
    ] = 1.0,
    background_shortcut: Annotated[
        float, typer.Option("--background-shortcut", help=say("Share of backgrounds that give the class away, 0 to 1."))
    ] = 0.0,
    text: Annotated[bool, typer.Option("--text", help=say("Train a small language model on notes instead."))] = False,
    seed: Annotated[int, typer.Option("--seed", help=say("Another seed draws other pictures."))] = 0,
    json: AsJson = False,
) -> ExitCode:
    """Make the pictures or notes unless they are there, then train on them."""
    need_extra("train", TRAINING)
    if text:
        return _on_notes(pictures, out, seed, json=json)
    from rigwise.train.embedded import EmbeddedSet
    from rigwise.train.preparation import Request
    from rigwise.train.recipe_sections import Recipe

    wanted = EmbeddedSet(
        per_class=per_class,
        seed=seed,
        label_noise=label_noise,
        imbalance=imbalance,
        background_shortcut=background_shortcut,
    )
    _draw_once(pictures, wanted)
    return run_and_show(Request(root=pictures, recipe=Recipe(), out=out), json=json)


def _on_notes(folder: Path, out: Path | None, seed: int, *, json: bool) -> ExitCode:
    """The same on notes, whose entropy is known."""
    from rigwise.train.preparation import Request
    from rigwise.train.recipe_sections import Recipe
    from rigwise.train.text.embedded import write_notes

    written = write_notes(NOTES_FOLDER if folder == PICTURES_FOLDER else folder, seed)
    return run_and_show(Request(root=written, recipe=Recipe(), out=out), json=json)


def _draw_once(folder: Path, wanted: "EmbeddedSet") -> None:
    """Draw the pictures; a folder that holds the very same set already is used as it is."""
    from rigwise.train.embedded import already_drawn, make_pictures

    if already_drawn(folder, wanted):
        return
    with ScreenProgress() as progress:
        progress.begin(say("drawing pictures into {folder}", folder=folder), None)
        make_pictures(folder, wanted, progress=progress.update)
