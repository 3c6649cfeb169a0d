"""The guided experiment on pictures: audited first, reviewed afterwards, also with their backgrounds swapped."""

import shlex

import msgspec

from rigwise.records.audit import AuditReport
from rigwise.records.exported import ModelCard
from rigwise.records.review import Review
from rigwise.sources.live import LiveSource
from rigwise.speech import printable, say
from rigwise.telemetry.run_folder import RunFolder, write_text
from rigwise.train.audit.auditing import audit_pictures
from rigwise.train.audit.plan import AuditPlan
from rigwise.train.audit.review_file import leave_review
from rigwise.train.batch.child import default_device
from rigwise.train.batch.for_pictures import with_found_batch
from rigwise.train.counterfactual import counterfactual
from rigwise.train.export.model_folder import FOLDER
from rigwise.train.export.pictures import leave_model, trained_model
from rigwise.train.full_trial import Trained
from rigwise.train.guide import Guide
from rigwise.train.lab import Conditions
from rigwise.train.network.model import BuiltModel, must_take
from rigwise.train.picture_lab import PictureLab, image_size, recipe_model
from rigwise.train.pictures.cache.choice import cache_request, open_cache
from rigwise.train.pictures.picture_ledger import FILE_NAME, picture_lines
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.recipe_sections import Recipe
from rigwise.train.review import review as review_predictions
from rigwise.train.step.device import first_gpu


class PictureGuide(Guide[PictureLab]):
    """One run on pictures.

    Raises:
        BadInput: the model cannot be used.
        CannotTell: pretrained weights cannot be had here.
    """

    def __init__(self, recipe: Recipe, pictures: PictureSet, review: Review) -> None:
        self._pictures = pictures
        self._review = review
        self._model = recipe.model.name
        self._weights = _refuse_unfit(recipe, len(pictures.classes)).weights
        self._audit: AuditReport | None = None

    def facts(self) -> dict[str, object]:
        """Model, weights and what the pictures are."""
        return {"model": self._model, "weights": self._weights, "pictures": self._pictures.summary}

    def leave_ledger(self, folder: RunFolder) -> None:
        """pictures.tsv, and review.json where a person answered something."""
        write_text(folder.path / FILE_NAME, picture_lines(self._pictures))
        leave_review(folder.path, self._review)

    def more_changed(self, count: int) -> str:
        """Pictures."""
        return say("and {count} more pictures", count=count)

    def lab(self, shared: Conditions) -> PictureLab:
        """The pictures, kept decoded where that pays."""
        request = cache_request(shared.recipe, self._pictures, on_gpu=shared.device.is_gpu)
        cache = open_cache(request, LiveSource(), shared.progress)
        return PictureLab(**msgspec.structs.asdict(shared), pictures=self._pictures, cache=cache)

    def look_first(self, lab: PictureLab) -> None:
        """The audit, unless an earlier process of this run made it."""
        section = lab.recipe.audit
        if lab.recorded is not None and lab.recorded.audit is not None:
            self._audit = lab.recorded.audit
            return
        if section.sample == 0:
            return
        plan = AuditPlan(sample=section.sample, labels=section.labels, image_size=lab.image_size, review=self._review)
        self._audit = audit_pictures(lab.pictures, plan, lab.progress)
        lab.writer.fact("audit", self._audit)

    def find_batch(self, lab: PictureLab) -> PictureLab:
        """Searched on these pictures."""
        return with_found_batch(lab, default_device)

    def conclude(self, lab: PictureLab, chosen: Trained) -> None:
        """Confusion, first predictions, the same with backgrounds swapped, and the model."""
        confusion, predictions = review_predictions(lab, chosen)
        lab.writer.fact("confusion", confusion)
        for prediction in predictions:
            lab.writer.record(prediction)
        if self._audit is not None:
            swapped = counterfactual(lab, chosen)
            needs_a_human = self._audit.needs_a_human or swapped.leans_on_background
            changes = {"counterfactual": swapped, "needs_a_human": needs_a_human}
            lab.writer.fact("audit", msgspec.structs.replace(self._audit, **changes))
        _note_model(lab, leave_model(lab, chosen.result, trained_model(lab, chosen)))


def _refuse_unfit(recipe: Recipe, num_classes: int) -> BuiltModel:
    """The model, which takes pictures of the recipe's size."""
    built = recipe_model(recipe, num_classes)
    must_take(built, image_size(recipe, on_gpu=first_gpu() is not None))
    return built


def _note_model(lab: PictureLab, card: ModelCard) -> None:
    """What the run left for other programs, and what asks it."""
    if not card.program:
        note = say("no exported program, weights only: {why}", why=card.why_no_program)
        lab.writer.event("model not exported", card.why_no_program)
    else:
        note = say("{folder}: {proof}", folder=lab.folder.path / FOLDER, proof=card.proof)
        lab.writer.fact("predict_command", f"rigwise predict {shlex.quote(printable(lab.folder.path))} PICTURES")
    lab.writer.fact("model_note", note)
