"""The guided experiment into a run folder: note the rig, run the trials, compare, leave what repeats it tomorrow.

Writes into the run folder only. The page is made from the folder afterwards, by whoever called.
"""

import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path

import msgspec

from rigwise.records.audit import AuditReport
from rigwise.records.finding import CheckReport
from rigwise.records.review import Review
from rigwise.sources.live import LiveSource
from rigwise.speech import printable, say
from rigwise.telemetry.run_folder import RunFolder, create_next_run_folder, create_run_folder, write_text
from rigwise.telemetry.writer import RunWriter
from rigwise.train.audit.auditing import audit_pictures
from rigwise.train.audit.plan import AuditPlan
from rigwise.train.batch.child import default_device
from rigwise.train.batch.for_pictures import with_found_batch
from rigwise.train.choice import recommend
from rigwise.train.conditions import choose_device, make_repeatable
from rigwise.train.counterfactual import counterfactual
from rigwise.train.experiment import Experiment, run_experiment
from rigwise.train.keepsakes import leave_model, leave_what_repeats
from rigwise.train.network.model import must_take
from rigwise.train.picture_lab import PictureLab, image_size, recipe_model
from rigwise.train.pictures.cache.choice import cache_request, open_cache
from rigwise.train.preparation import Prepared
from rigwise.train.progress import Progress
from rigwise.train.ranks.ready import ready_ranks
from rigwise.train.ranks.setup import RanksSetup, ranks_setup
from rigwise.train.recipe import write_recipe
from rigwise.train.repeat import repeat_note
from rigwise.train.review import review as review_predictions
from rigwise.train.step.device import first_gpu
from rigwise.train.trial_ceilings import trial_ceilings

NUM_CHANGES_TOLD = 10
"""How many changed pictures a repeat names on the screen."""


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


def run_guided(prepared: Prepared, surroundings: Surroundings, progress: Progress) -> Path:
    """Run the experiment; returns its run folder.

    Raises:
        BadInput: the model or the run folder cannot be used.
        CannotTell: pretrained weights cannot be had here.
        CannotWrite: the run folder cannot be written.
    """
    weights, ranks = _refuse_unfit(prepared)
    request, recipe, pictures = prepared.request, prepared.recipe, prepared.pictures
    folder = create_run_folder(request.out) if request.out else create_next_run_folder(date.today())
    leave_what_repeats(folder, recipe, pictures, request.review)
    with RunWriter(folder.database) as writer:
        _note_request(writer, folder, prepared, weights, ranks)
        writer.flush()
        surroundings.started(folder.path)
        _note_changes(writer, prepared.changed, progress)
        rig = _note_rig(writer, folder, surroundings, progress)
        device, no_gpu = choose_device(rig.report)
        make_repeatable(recipe, device)
        with surroundings.sample(writer):
            lab = PictureLab(
                recipe=recipe,
                pictures=pictures,
                device=device,
                no_gpu=no_gpu,
                writer=writer,
                progress=progress,
                folder=folder,
                cache=open_cache(cache_request(recipe, pictures, on_gpu=device.is_gpu), LiveSource(), progress),
                ranks=ranks and ready_ranks(ranks, rig.report, writer, progress),
            )
            audit = _audit(lab, request.review)
            lab = _with_found_batch(lab) if request.find_batch else lab
            experiment = run_experiment(lab)
        _conclude(lab, experiment, audit)
        _note_ceilings(lab, experiment, asked=request.ceilings)
        _note_repeat(lab, experiment, prepared)
        writer.fact("finished", True)
    return folder.path


def _note_ceilings(lab: PictureLab, experiment: Experiment, *, asked: bool) -> None:
    """What bounds the recommended trial, where that was asked for and there is one."""
    chosen = recommend(experiment.rows, lab.no_gpu, _repeat_command(lab.folder, lab.ranks)).trial
    if asked and chosen is not None:
        lab.writer.fact("ceilings", trial_ceilings(lab, experiment.trained[chosen].result))


def _note_repeat(lab: PictureLab, experiment: Experiment, prepared: Prepared) -> None:
    """Whether a repeat was one."""
    earlier = prepared.request.earlier
    if earlier is not None:
        note = repeat_note(earlier, experiment.steps, prepared.changed, on_gpu=lab.device.is_gpu)
        lab.writer.fact("repeat_note", note.text)
        lab.writer.fact("repeat_equal", note.equal)


def _with_found_batch(lab: PictureLab) -> PictureLab:
    """The lab at the batch size found; its recipe, which repeats the run without another search, says so too."""
    lab = with_found_batch(lab, default_device)
    write_text(lab.folder.recipe, write_recipe(lab.recipe))
    lab.writer.fact("recipe_toml", write_recipe(lab.recipe))
    return lab


def _refuse_unfit(prepared: Prepared) -> tuple[str, RanksSetup | None]:
    """The weights of the model, which takes pictures of the recipe's size, and the ranks that were asked for."""
    recipe, asked = prepared.recipe, prepared.request.ranks
    built = recipe_model(recipe, len(prepared.pictures.classes))
    must_take(built, image_size(recipe, on_gpu=first_gpu() is not None))
    return built.weights, None if asked is None else ranks_setup(asked, recipe.training.batch_size)


def _note_changes(writer: RunWriter, changed: Sequence[str], progress: Progress) -> None:
    for sentence in changed:
        writer.event("changed picture", sentence)
    for sentence in changed[:NUM_CHANGES_TOLD]:
        progress.tell(sentence)
    if len(changed) > NUM_CHANGES_TOLD:
        progress.tell(say("and {count} more pictures", count=len(changed) - NUM_CHANGES_TOLD))


def _note_request(
    writer: RunWriter, folder: RunFolder, prepared: Prepared, weights: str, ranks: RanksSetup | None
) -> None:
    writer.fact("recipe_toml", write_recipe(prepared.recipe))
    writer.fact("model", prepared.recipe.model.name)
    writer.fact("weights", weights)
    writer.fact("pictures", prepared.pictures.summary)
    writer.fact("repeat_command", _repeat_command(folder, ranks))


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


def _audit(lab: PictureLab, review: Review) -> AuditReport | None:
    """What is suspicious about the pictures, before anything is measured on them."""
    section = lab.recipe.audit
    if section.sample == 0:
        return None
    plan = AuditPlan(sample=section.sample, labels=section.labels, image_size=lab.image_size, review=review)
    report = audit_pictures(lab.pictures, plan, lab.progress)
    lab.writer.fact("audit", report)
    return report


def _conclude(lab: PictureLab, experiment: Experiment, audit: AuditReport | None) -> None:
    """E7: the recommendation, what the recommended model says of pictures and backgrounds, and the model itself."""
    recommendation = recommend(experiment.rows, lab.no_gpu, _repeat_command(lab.folder, lab.ranks))
    lab.writer.fact("recommendation", recommendation)
    if recommendation.trial is None:
        return
    chosen = experiment.trained[recommendation.trial]
    confusion, predictions = review_predictions(lab, chosen)
    lab.writer.fact("confusion", confusion)
    for prediction in predictions:
        lab.writer.record(prediction)
    if audit is not None:
        swapped = counterfactual(lab, chosen)
        needs_a_human = audit.needs_a_human or swapped.leans_on_background
        lab.writer.fact("audit", msgspec.structs.replace(audit, counterfactual=swapped, needs_a_human=needs_a_human))
    leave_model(lab.folder, chosen, lab)
