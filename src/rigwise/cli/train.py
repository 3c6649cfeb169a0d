"""`rigwise train`: the guided experiment on pictures or texts, or an earlier run again."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigwise.cli.console import ScreenProgress, on_screen, put_out
from rigwise.cli.extras import TRAINING, need_extra
from rigwise.cli.options import AsJson, Verdicts, refuse_together
from rigwise.cli.pages import make_page
from rigwise.errors import BadInput, ExitCode
from rigwise.speech import say
from rigwise.train.ranks.failure import RankEnded
from rigwise.train.ranks.torchrun import started_by_torchrun

if TYPE_CHECKING:
    from rigwise.telemetry.sampler import Sampler
    from rigwise.telemetry.writer import RunWriter
    from rigwise.train.guided import RigNote
    from rigwise.train.preparation import Request


def train(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DATA", help=say("Folder of classes or of shards; texts, or JSONL."))
    ] = None,
    recipe: Annotated[Path | None, typer.Option("--recipe", metavar="FILE", help=say("A recipe.toml."))] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="RUN", help=say("Run folder to make."))] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help=say("Any timm model; of texts a local folder."))
    ] = None,
    earlier: Annotated[Path | None, typer.Option("--from", metavar="RUN", help=say("Repeat this run anew."))] = None,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="RUN", help=say("Go on, if interrupted."))] = None,
    verdicts: Verdicts = None,
    find_batch: Annotated[bool, typer.Option("--find-batch", help=say("Search the largest batch that holds."))] = False,
    find_lr: Annotated[bool, typer.Option("--find-lr", help=say("Search a learning rate."))] = False,
    ceilings: Annotated[bool, typer.Option("--ceilings", help=say("Find what bounds the speed; try levers."))] = False,
    ranks: Annotated[
        int | None, typer.Option("--ranks", metavar="N", min=0, help=say("Processes for each step; 0: one per GPU."))
    ] = None,
    knobs: Annotated[bool, typer.Option("--knobs", help=say("Compare every knob that applies."))] = False,
    json: AsJson = False,
) -> ExitCode:
    """Run, compare, leave a page and a recipe."""
    torchrun = started_by_torchrun(os.environ)
    if torchrun is not None and torchrun[0] > 0:
        return ExitCode.GO  # the first rank leads, and starts as many ranks as there are
    need_extra("train", TRAINING)
    if torchrun is not None:
        ranks = torchrun[1]
    also = {"find_lr": find_lr, "ceilings": ceilings, "knobs": knobs}
    if ranks is not None:
        _refuse_with_ranks(find_batch=find_batch, **also)
    if resume is not None:
        others = {"recipe": recipe, "model": model, "from": earlier, "out": out, "verdicts": verdicts, "ranks": ranks}
        _refuse_beside("--resume", **others, find_batch=find_batch, **also)
        return _resume(folder, resume, json=json)
    if earlier is not None:
        _refuse_beside("--from", recipe=recipe, model=model, find_batch=find_batch, find_lr=find_lr, verdicts=verdicts)
    request = _request(folder, recipe, out, model, earlier, verdicts, find_batch)
    return run_and_show(_also(request, ranks=ranks, **also), json=json)


def _resume(folder: Path | None, run: Path, *, json: bool) -> ExitCode:
    """Go on with an interrupted run in its own folder; of a finished one, show what it came to."""
    from rigwise.train.audit.review_file import review_of
    from rigwise.train.checkpoint.interrupted import read_interrupted
    from rigwise.train.preparation import Request

    before = read_interrupted(run)
    if before.run.asked.ranks:
        raise BadInput(
            say("{run} was trained by {count} ranks, which save no checkpoints", run=run, count=before.run.asked.ranks),
            say("only a run of one process goes on where it was interrupted"),
            say("start it anew, with the same recipe: rigwise train --from {run}", run=run),
        )
    if before.run.finished:
        on_screen().print(say("{run} is finished: nothing is left to resume", run=run))
        return show_run(run, json=json)
    request = Request(
        root=folder or before.earlier.ledger.root,
        recipe=before.earlier.recipe,
        earlier=before.repeats,
        interrupted=before,
        review=review_of(run),
        find_batch=before.lacks_batch,
        find_lr=before.lacks_lr,
        ceilings=before.run.asked.ceilings,
        knobs=before.run.asked.knobs,
    )
    return run_and_show(request, json=json)


def run_and_show(request: "Request", *, json: bool) -> ExitCode:
    """Run the experiment and print the comparison; an interrupted run still gets its page."""
    from rigwise.train.preparation import prepare

    started: list[Path] = []
    try:
        with ScreenProgress() as progress:
            prepared = prepare(request, progress)
            # Only now: this imports torch, and bad input must not wait seconds for it.
            from rigwise.train.guided import Surroundings, run_guided

            surroundings = Surroundings(note_rig=_note_rig, sample=_sample, started=started.append)
            run_folder = run_guided(prepared, surroundings, progress)
        return show_run(run_folder, json=json)
    except (KeyboardInterrupt, RankEnded):
        for interrupted in started:
            make_page(interrupted)
            on_screen().print(say("what was measured is in {page}", page=interrupted / "report.html"))
            if request.ranks is None:  # ranks save no checkpoints
                on_screen().print(say("go on with it: rigwise train --resume {run}", run=interrupted))
        raise


def show_run(run_folder: Path, *, json: bool) -> ExitCode:
    """Make the page, print the comparison, and say whether a repeat was one."""
    from rigwise.report.json_text import train_json
    from rigwise.report.run_text import run_text

    run = make_page(run_folder)
    put_out(train_json(run) if json else run_text(run, page=str(run_folder / "report.html")))
    nothing_ran = run.recommendation is None or run.recommendation.trial is None
    return ExitCode.PROBLEM if run.repeat_equal is False or nothing_ran else ExitCode.GO


def _request(
    folder: Path | None,
    recipe: Path | None,
    out: Path | None,
    model: str | None,
    earlier: Path | None,
    verdicts: list[Path] | None,
    find_batch: bool,
) -> "Request":
    from rigwise.train.audit.review_file import merged, read_review, review_of
    from rigwise.train.preparation import Request
    from rigwise.train.recipe import read_recipe
    from rigwise.train.recipe_sections import Recipe
    from rigwise.train.repeat import read_earlier

    if earlier is not None:
        before = read_earlier(earlier)
        root = folder or before.ledger.root
        return Request(root=root, recipe=before.recipe, out=out, earlier=before, review=review_of(earlier))
    if folder is None:
        raise BadInput(
            say("DATA is missing"),
            say("train needs a folder with one folder of pictures per class, texts, or a run to repeat"),
            say("rigwise train DATA, or rigwise train --from RUN, or try the embedded pictures: rigwise demo"),
        )
    chosen = read_recipe(recipe) if recipe else Recipe()
    review = merged(read_review(path) for path in verdicts or ())
    return Request(root=folder, recipe=chosen, model=model, out=out, review=review, find_batch=find_batch)


def _also(request: "Request", **asked: object) -> "Request":
    """The request with what else was asked for."""
    import msgspec

    return msgspec.structs.replace(request, **asked)


def _refuse_with_ranks(**searches: bool) -> None:
    refuse_together(
        "--ranks",
        say("these search with one process; what they find for one GPU holds for the share of each rank"),
        **{name.replace("_", "-"): given for name, given in searches.items()},
    )


def _refuse_beside(chosen: str, **options: object) -> None:
    given = [
        f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None and value is not False
    ]
    if given:
        raise BadInput(
            say("{chosen} cannot be combined with {options}", chosen=chosen, options=", ".join(given)),
            say("it uses what the earlier run used, or it would be another run"),
            say("leave out {options}, or give DATA and --recipe RUN/recipe.toml", options=", ".join(given)),
        )


def _note_rig(evidence: Path) -> "RigNote":
    """E1: the check report and the rig in four lines; the evidence goes into the run folder, masked."""
    from rigwise.engine import judge
    from rigwise.probes.rig import read_rig
    from rigwise.report.rig_text import rig_lines
    from rigwise.sources.live import LiveSource
    from rigwise.sources.recorder import Recorder
    from rigwise.train.guided import RigNote

    recorder = Recorder(LiveSource())
    rig = read_rig(recorder)
    recorder.write(evidence)
    return RigNote(report=judge(rig), lines=rig_lines(rig))


def _sample(writer: "RunWriter") -> "Sampler":
    from rigwise.sources.live import LiveSource
    from rigwise.telemetry.sampler import Sampler

    return Sampler(LiveSource(), writer)
