"""The batch size of a guided experiment: its own model, pictures and validation, tried by `find_batch`.

All pictures are brought to one size before they reach the device, so that every full batch is the worst one.
"""

from functools import partial

import msgspec
import torch

from rigwise.train.batch.child import MakeDevice
from rigwise.train.batch.find import DEFAULT_EFFORT
from rigwise.train.batch.for_lab import searched
from rigwise.train.batch.search import Effort
from rigwise.train.batch.training import TorchTraining
from rigwise.train.knobs.model import prepare
from rigwise.train.knobs.optimizers import optimizer_of
from rigwise.train.picture_lab import PictureLab, PictureMaterial

ENDLESS_STEPS = 2**31


class PictureTraining(msgspec.Struct, frozen=True, kw_only=True):
    """Batch size to the training of an experiment, in fp32: mixed precision takes less."""

    material: PictureMaterial
    make_device: MakeDevice

    def __call__(self, batch_size: int) -> TorchTraining:
        """The training of the first full trial at this size, on the device."""
        recipe = self.material.recipe
        torch.set_num_threads(recipe.cpu.num_threads)
        device = self.make_device()
        inputs = self.material.inputs(self.material.build(), batch_size, device)
        model = inputs.model.to(device.torch_device)
        knobs = msgspec.structs.replace(recipe.knobs, compile=False)  # each size would be compiled anew
        prepare(model, knobs)
        batches = iter(inputs.train_batches(ENDLESS_STEPS, 0))
        return TorchTraining(
            model=model,
            optimizer=optimizer_of(
                model,
                knobs,
                learning_rate=recipe.training.learning_rate,
                weight_decay=recipe.training.weight_decay,
            ),
            loss=inputs.loss,
            train_batch=lambda step: next(batches),
            val_batches=partial(self.material.eval_batches, self.material.pictures.val, batch_size),
        )


def with_found_batch(lab: PictureLab, make_device: MakeDevice, effort: Effort = DEFAULT_EFFORT) -> PictureLab:
    """The lab with the largest batch size that holds on its GPU (`searched`).

    Raises:
        NoBatchHolds: no size does.
    """
    material = msgspec.structs.replace(lab.material, cache=None)  # a child decodes the same pictures itself
    training = PictureTraining(material=material, make_device=make_device)
    return searched(lab, training, len(lab.pictures.train), make_device, effort)
