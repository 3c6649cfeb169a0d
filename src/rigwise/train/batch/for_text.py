"""The batch size of an experiment on texts: its own model, texts and validation, tried by `find_batch`.

The first step of each probe is given the longest sequences there are.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec
import torch

from rigwise.train.batch.child import MakeDevice
from rigwise.train.batch.find import DEFAULT_EFFORT
from rigwise.train.batch.for_lab import searched
from rigwise.train.batch.search import Effort
from rigwise.train.batch.training import TorchTraining
from rigwise.train.text_lab import TextLab, TextMaterial

ENDLESS_STEPS = 2**31


class TextTraining(msgspec.Struct, frozen=True, kw_only=True):
    """Batch size to the training of an experiment, in fp32: mixed precision takes less."""

    material: TextMaterial
    make_device: MakeDevice

    def __call__(self, batch_size: int) -> TorchTraining:
        """The training of the first full trial at this size, on the device."""
        recipe = self.material.recipe
        torch.set_num_threads(recipe.cpu.num_threads)
        device = self.make_device()
        built = self.material.build()
        model = built.model.to(device.torch_device).train()
        stream = self.material.stream("train", batch_size)
        batches = chain([stream.worst_batch()], stream.train_batches(ENDLESS_STEPS))

        def validation() -> Iterator[Any]:
            every = self.material.stream("val", batch_size).eval_batches(recipe.text.val_tokens)
            return (each.batch for each in every)

        return TorchTraining(
            model=model,
            optimizer=torch.optim.AdamW(model.parameters(), lr=recipe.training.learning_rate),
            loss=self.material.loss(built, device),
            train_batch=lambda step: next(batches),
            val_batches=validation,
        )


def with_found_text_batch(lab: TextLab, make_device: MakeDevice, effort: Effort = DEFAULT_EFFORT) -> TextLab:
    """The lab with the largest batch size that holds on its GPU (`searched`).

    Raises:
        NoBatchHolds: no size does.
    """
    training = TextTraining(material=lab.material, make_device=make_device)
    most = lab.material.stream("train", 1).arrangement.num_per_epoch
    return searched(lab, training, most, make_device, effort)
