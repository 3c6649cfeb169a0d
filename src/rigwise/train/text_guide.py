"""The guided experiment on texts: tokenised once, trained, then read by a person where the model was worst."""

from pathlib import Path

import msgspec

from rigwise.speech import say
from rigwise.telemetry.run_folder import RunFolder, write_text
from rigwise.train.batch.child import default_device
from rigwise.train.batch.for_text import with_found_text_batch
from rigwise.train.full_trial import Trained
from rigwise.train.guide import Guide
from rigwise.train.lab import Conditions
from rigwise.train.recipe_sections import Recipe
from rigwise.train.text.ledger import FILE_NAME, text_lines
from rigwise.train.text.models import build_text_model, recipe_tokeniser
from rigwise.train.text.text_set import TextSet
from rigwise.train.text.tokens import tokenised
from rigwise.train.text_keepsakes import leave_text_model
from rigwise.train.text_lab import TextLab
from rigwise.train.text_notes import batching_notes
from rigwise.train.text_review import review_texts


class TextGuide(Guide[TextLab]):
    """One run on texts.

    Raises:
        BadInput: the tokeniser or the model cannot be used.
    """

    def __init__(self, recipe: Recipe, root: Path, texts: TextSet) -> None:
        self._root = root
        self._texts = texts
        self._tokeniser = recipe_tokeniser(recipe)
        built = build_text_model(recipe, self._tokeniser.vocabulary_size)
        self._model, self._weights = built.name, built.weights

    def facts(self) -> dict[str, object]:
        """Model, weights and what the texts are."""
        return {"model": self._model, "weights": self._weights, "texts": self._texts.summary}

    def leave_ledger(self, folder: RunFolder) -> None:
        """texts.tsv."""
        write_text(folder.path / FILE_NAME, text_lines(self._root, self._texts))

    def more_changed(self, count: int) -> str:
        """Documents."""
        return say("and {count} more documents", count=count)

    def lab(self, shared: Conditions) -> TextLab:
        """The texts, tokenised."""
        tables = tokenised(self._texts, self._tokeniser, shared.recipe.text.field, shared.progress)
        return TextLab(
            **msgspec.structs.asdict(shared),
            texts=self._texts,
            tables=tables,
            vocabulary_size=self._tokeniser.vocabulary_size,
        )

    def look_first(self, lab: TextLab) -> None:
        """How the documents become batches, which decides what is learned of them."""
        summary = self._texts.summary
        notes = (*summary.notes, *batching_notes(lab, self._tokeniser))
        lab.writer.fact("texts", msgspec.structs.replace(summary, notes=notes))

    def find_batch(self, lab: TextLab) -> TextLab:
        """Searched on these texts."""
        return with_found_text_batch(lab, default_device)

    def conclude(self, lab: TextLab, chosen: Trained) -> None:
        """The worst documents, continuations, and the model."""
        lab.writer.fact("text_review", review_texts(lab, chosen, self._tokeniser))
        lab.writer.fact("model_note", leave_text_model(lab, chosen))
