"""The experiment on texts: what its trials are made of."""

from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec
from torch import Tensor, nn

from rigwise.train.lab import Lab
from rigwise.train.ranks.whole import WholeMaterial
from rigwise.train.recipe_sections import Recipe
from rigwise.train.smoke import Smoke, prove_batch
from rigwise.train.step.device import Device
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import Batch, FreshInputs, TrialInputs
from rigwise.train.text.models import BuiltText, build_text_model
from rigwise.train.text.scoring import TextScores, TokenLoss, logits_of, mean_token_loss, score_texts
from rigwise.train.text.stream import TextStream, num_labels
from rigwise.train.text.text_set import TextSet
from rigwise.train.text.tokens import TokenTable


def context(recipe: Recipe, *, on_gpu: bool) -> int:
    """Tokens of a sequence in the trials; fewer on the CPU."""
    return recipe.text.context if on_gpu else recipe.cpu.context


class TextMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial is made of; it can be sent to another process, which maps the same tokens."""

    recipe: Recipe
    tables: dict[str, TokenTable]
    """Split to its tokens."""
    vocabulary_size: int
    context: int
    packed: bool
    """Whether documents are joined to full sequences."""
    pinned: bool
    """Whether batches lie in page-locked memory, for a GPU."""

    def build(self) -> BuiltText:
        """A fresh model, the same each time."""
        return build_text_model(self.recipe, self.vocabulary_size)

    @property
    def held_back(self) -> str:
        """The split nobody chose by: test, or val where there is no test split."""
        return "test" if self.tables["test"].num_documents else "val"

    def stream(self, split: str, batch_size: int) -> TextStream:
        """Batches of this split, the same for the same recipe."""
        return TextStream(
            self.tables[split],
            context=self.context,
            seed=self.recipe.training.seed,
            batch_size=batch_size,
            packed=self.packed,
            pinned=self.pinned,
        )

    def loss(self, built: BuiltText, device: Device) -> TokenLoss:
        """What a trial on this device minimises."""
        return TokenLoss(
            device=device,
            apart=self.packed and built.keeps_apart,
            label_smoothing=self.recipe.knobs.label_smoothing,
        )

    def fresh_inputs(self, batch_size: int, device: Device) -> TrialInputs:
        """The same of a fresh model."""
        return self.inputs(self.build(), batch_size, device)

    def inputs(self, built: BuiltText, batch_size: int, device: Device) -> TrialInputs:
        """What a trial of this model at this batch size works with."""

        def scores_of(split: str, model: nn.Module, precision: str) -> TextScores:
            batches = self.stream(split, batch_size).eval_batches(self.recipe.text.val_tokens)
            return score_texts(model, batches, device, precision)

        return TrialInputs(
            model=built.model,
            loss=self.loss(built, device),
            count=num_labels,
            train_batches=self.stream("train", batch_size).train_batches,
            validate=partial(scores_of, "val"),
            review=partial(scores_of, self.held_back),
        )


class TextLab(Lab, frozen=True, kw_only=True):
    """One experiment on texts."""

    texts: TextSet
    tables: dict[str, TokenTable]
    vocabulary_size: int

    @property
    def material(self) -> TextMaterial:
        """What its trials are made of."""
        batching = self.recipe.text.batching
        return TextMaterial(
            recipe=self.recipe,
            tables=self.tables,
            vocabulary_size=self.vocabulary_size,
            context=context(self.recipe, on_gpu=self.device.is_gpu),
            packed=not self.texts.has_prompts if batching == "auto" else batching == "packed",
            pinned=self.device.torch_device.type == "cuda",
        )

    def build(self) -> BuiltText:
        """A fresh model, the same each time."""
        return self.material.build()

    def inputs(self, batch_size: int) -> TrialInputs:
        """A fresh model and its batches of texts."""
        return self.material.fresh_inputs(batch_size, self.device)

    @property
    def rank_material(self) -> WholeMaterial:
        """Every rank maps the same tokens and takes its rows; scoring texts is short enough to be done by each."""
        return WholeMaterial(self.material.fresh_inputs)

    @property
    def inputs_elsewhere(self) -> FreshInputs:
        """The same inputs made in a process that has no GPU."""
        return msgspec.structs.replace(self.material, pinned=False).fresh_inputs

    @property
    def fingerprint(self) -> dict[str, str]:
        """What every kind of data has, and what the documents say, in order."""
        digest = sha256("".join(document.sha256 for document in self.texts.train).encode()).hexdigest()
        return super().fingerprint | {"texts": digest}

    def feed(self, batch_size: int, num_threads: int, num_steps: int) -> Iterable[Batch]:
        """The first batches of a trial; threads would only wait for each other."""
        return self.material.stream("train", batch_size).train_batches(num_steps)

    def measured(self, batch_size: int, steps: int, step_seconds: float, scores: Scored | None) -> dict[str, Any]:
        """Tokens and sequences a second, what was trained on, and the validation loss."""
        stream = self.material.stream("train", batch_size)
        num_tokens = stream.num_tokens(steps)
        fields: dict[str, Any] = {
            "sequence_length": self.material.context,
            "samples_per_second": batch_size / step_seconds,
            "tokens_per_second": num_tokens / steps / step_seconds,
        }
        if isinstance(scores, TextScores):
            fields |= {
                "val_loss": scores.mean_loss,
                "val_loss_standard_error": scores.standard_error,
                "num_tokens": num_tokens,
                "num_epochs": stream.num_epochs(steps),
            }
        return fields

    def prove(self, batch_size: int, gpu: Device | None) -> Smoke:
        """The first training batch on the CPU and on the GPU, if there is one; the last position's logits compared."""
        material, built = self.material, self.build()
        apart = material.packed and built.keeps_apart

        def judge(model: nn.Module, batch: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
            logits = logits_of(model, batch, apart=apart)
            return logits[:, -1], mean_token_loss(logits, batch[1])

        (batch,) = material.stream("train", batch_size).train_batches(1)
        return prove_batch(built.model, judge, batch, gpu, self.no_gpu)
