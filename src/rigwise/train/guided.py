"""The guided experiment into a run folder: note the rig, run the trials, compare, leave what repeats it tomorrow.

Writes into the run folder only. The page is made from the folder afterwards, by whoever called.
"""

import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import NamedTuple

import msgspec

from rigwise.records.finding import CheckReport
from rigwise.records.knobs import KnobsReport
from rigwise.records.run import Asked
from rigwise.speech import printable, say
from rigwise.telemetry.run_folder import RunFolder, create_next_run_folder, create_run_folder, write_text
from rigwise.telemetry.writer import RunWriter
from rigwise.train.checkpoint.run_checkpoints import RunCheckpoints
from rigwise.train.checkpoint.run_lock import RunLock
from rigwise.train.choice import recommend
from rigwise.train.conditions import choose_device, make_repeatable
from rigwise.train.experiment import Experiment, run_experiment
from rigwise.train.guide import Guide, L
from rigwise.train.keepsakes import leave_what_repeats
from rigwise.train.knobs.allocator import settle_allocator
from rigwise.train.knobs.for_trials import with_found_lr
from rigwise.train.knobs.gains import trial_peaks, with_knobs
from rigwise.train.lab import Conditions, Lab
from rigwise.train.picture_guide import PictureGuide
from rigwise.train.preparation import Prepared, PreparedPictures, PreparedTexts, Request
from rigwise.train.progress import Progress
from rigwise.train.ranks.ready import ready_ranks
from rigwise.train.ranks.setup import RanksSetup, ranks_setup
from rigwise.train.recipe import write_recipe
from rigwise.train.repeat import repeat_note
from rigwise.train.text_guide import TextGuide
from rigwise.train.trial_ceilings import trial_ceilings

NUM_CHANGES_TOLD = 10
"""How many changed samples a repeat names on the screen."""


class RigNote(msgspec.Struct, frozen=True, kw_only=True):
    """E1: what was found of the machine."""

    report: CheckReport
    lines: tuple[str, ...]
    """The rig in at most four lines."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What the experiment needs of the machine around it; given by the caller, who knows the source."""

    note_rig: Callable[[Path], RigNote]
    """Reads the machine and leaves the evidence in the folder it is given."""
    sample: Callable[[RunWriter], AbstractContextManager[object]]
    """Samples the machine into the writer for as long as it is entered."""
    started: Callable[[Path], None]
    """Told the run folder as soon as there is something in it worth reading."""


def run_guided(prepared: PreparedPictures | PreparedTexts, surroundings: Surroundings, progress: Progress) -> Path:
    """Run the experiment; returns its run folder.

    Raises:
        BadInput: the model or the run folder cannot be used.
        CannotTell: pretrained weights cannot be had here.
        CannotWrite: the run folder cannot be written.
    """
    allocator = settle_allocator(prepared.recipe.knobs)  # before anything asks for a GPU
    asked = prepared.request.ranks
    means = _Means(None if asked is None else ranks_setup(asked, prepared.recipe), allocator)
    if isinstance(prepared, PreparedTexts):
        guide = TextGuide(prepared.recipe, prepared.request.root, prepared.texts)
        return _run(guide, means, prepared, surroundings, progress)
    pictures = PictureGuide(prepared.recipe, prepared.pictures, prepared.request.review)
    return _run(pictures, means, prepared, surroundings, progress)


class _Means(NamedTuple):
    """What the run trains with, beside its recipe."""

    ranks: RanksSetup | None
    allocator: str


def _run(guide: Guide[L], means: _Means, prepared: Prepared, surroundings: Surroundings, progress: Progress) -> Path:
    request, recipe = prepared.request, prepared.recipe
    folder = _run_folder(guide, prepared)
    recorded = request.interrupted.run if request.interrupted else None
    with RunLock(folder.path), RunWriter(folder.database, continues=recorded is not None) as writer:
        for key, value in (_facts(folder, prepared, means.ranks) | guide.facts()).items():
            writer.fact(key, value)
        writer.flush()
        surroundings.started(folder.path)
        _note_changes(guide, writer, prepared.changed, progress)
        rig = _note_rig(writer, folder, surroundings, progress)
        device, no_gpu = choose_device(rig.report)
        make_repeatable(recipe, device)
        shared = Conditions(
            recipe=recipe,
            device=device,
            no_gpu=no_gpu,
            writer=writer,
            progress=progress,
            folder=folder,
            checkpoints=RunCheckpoints(folder.path, recipe.checkpoints, writer, progress, recorded),
        )
        with surroundings.sample(writer):
            lab = guide.lab(_with_ranks(shared, means.ranks, rig.report))
            guide.look_first(lab)
            lab = _tuned(guide, lab, request)
            experiment = run_experiment(lab)
        _conclude(guide, lab, experiment)
        _note_ceilings(lab, experiment, asked=request.ceilings)
        _note_knobs(lab, experiment, every=request.knobs, allocator=means.allocator)
        _note_repeat(lab, experiment, prepared)
        _finish(lab)
    return folder.path


def _with_ranks(shared: Conditions, ranks: RanksSetup | None, report: CheckReport) -> Conditions:
    """The same, with ranks that have proved to reach each other where several were asked for; they save nothing yet."""
    if ranks is None:
        return shared
    ready_ranks(ranks, report, shared.writer, shared.progress)
    return msgspec.structs.replace(shared, ranks=ranks, checkpoints=None)


def _run_folder(guide: Guide[L], prepared: Prepared) -> RunFolder:
    """A new one with what repeats the run in it, or that of the interrupted run."""
    request = prepared.request
    if request.interrupted is not None:
        return RunFolder(request.interrupted.folder)
    folder = create_run_folder(request.out) if request.out else create_next_run_folder(date.today())
    leave_what_repeats(folder, prepared.recipe)
    guide.leave_ledger(folder)
    return folder


def _facts(folder: RunFolder, prepared: Prepared, ranks: RanksSetup | None) -> dict[str, object]:
    """What was asked for, and what repeats or resumes it."""
    request = prepared.request
    repeats = str(request.earlier.folder.absolute()) if request.earlier else ""
    return {
        "asked": Asked(
            find_batch=request.find_batch,
            find_lr=request.find_lr,
            ceilings=request.ceilings,
            knobs=request.knobs,
            ranks=ranks.num_ranks if ranks else 0,
            repeats=repeats,
        ),
        "recipe_toml": write_recipe(prepared.recipe),
        "repeat_command": _repeat_command(folder, ranks),
        "resume_command": f"rigwise train --resume {shlex.quote(printable(folder.path))}",
    }


def _tuned(guide: Guide[L], lab: L, request: Request) -> L:
    """The lab at what was searched; its recipe, which repeats the run without another search, says so too."""
    tuned = guide.find_batch(lab) if request.find_batch else lab
    tuned = with_found_lr(tuned) if request.find_lr else tuned
    if tuned.recipe != lab.recipe:
        write_text(lab.folder.recipe, write_recipe(tuned.recipe))
        lab.writer.fact("recipe_toml", write_recipe(tuned.recipe))
    return tuned


def _conclude(guide: Guide[L], lab: L, experiment: Experiment) -> None:
    """E7: the recommendation, and what the recommended model says."""
    if lab.checkpoints is not None:
        lab.checkpoints.note_trials_ended()
    recommendation = recommend(experiment.rows, lab.no_gpu, _repeat_command(lab.folder, lab.ranks))
    lab.writer.fact("recommendation", recommendation)
    if recommendation.trial is not None:
        lab.writer.forget_predictions()  # of a process that was killed here
        guide.conclude(lab, experiment.trained[recommendation.trial])


def _finish(lab: Lab) -> None:
    """Say that the run is finished, and only then remove what it could have gone on from."""
    lab.writer.fact("finished", True)
    lab.writer.settle()
    if lab.checkpoints is not None:
        lab.checkpoints.remove()


def _note_ceilings(lab: Lab, experiment: Experiment, *, asked: bool) -> None:
    """What bounds the recommended trial, where that was asked for and there is one."""
    chosen = recommend(experiment.rows, lab.no_gpu, _repeat_command(lab.folder, lab.ranks)).trial
    if asked and chosen is not None:
        lab.writer.fact("ceilings", trial_ceilings(lab, experiment.trained[chosen].result))


def _note_knobs(lab: Lab, experiment: Experiment, *, every: bool, allocator: str) -> None:
    """The peak of every full trial, and what the knobs cost and gain on the recommended one."""
    report = KnobsReport(peaks=trial_peaks(lab, experiment.rows), allocator=allocator)
    lab.writer.fact("knobs", report)
    chosen = recommend(experiment.rows, lab.no_gpu, _repeat_command(lab.folder, lab.ranks)).trial
    if chosen is not None and lab.ranks is None:  # knobs are tried in one process
        lab.writer.fact("knobs", with_knobs(lab, experiment.trained[chosen].result, report, every=every))


def _note_repeat(lab: Lab, experiment: Experiment, prepared: Prepared) -> None:
    """Whether a repeat was one."""
    earlier = prepared.request.earlier
    if earlier is not None:
        note = repeat_note(earlier, experiment.steps, prepared.changed, on_gpu=lab.device.is_gpu)
        lab.writer.fact("repeat_note", note.text)
        lab.writer.fact("repeat_equal", note.equal)


def _note_changes(guide: Guide[L], writer: RunWriter, changed: Sequence[str], progress: Progress) -> None:
    for sentence in changed:
        writer.event("changed sample", sentence)
    for sentence in changed[:NUM_CHANGES_TOLD]:
        progress.tell(sentence)
    if len(changed) > NUM_CHANGES_TOLD:
        progress.tell(guide.more_changed(len(changed) - NUM_CHANGES_TOLD))


def _repeat_command(folder: RunFolder, ranks: RanksSetup | None) -> str:
    """What repeats this run, ready for a shell."""
    option = "" if ranks is None else f" --ranks {ranks.num_ranks}"
    return f"rigwise train --from {shlex.quote(printable(folder.path))}{option}"


def _note_rig(writer: RunWriter, folder: RunFolder, surroundings: Surroundings, progress: Progress) -> RigNote:
    progress.begin(say("noting the rig"), None)
    try:
        note = surroundings.note_rig(folder.evidence)
    finally:
        progress.end()
    writer.fact("check", note.report)
    writer.fact("rig_lines", note.lines)
    return note
