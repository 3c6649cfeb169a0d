"""The batch size of a guided experiment: its own model, pictures and validation, tried by `find_batch`.

All pictures are brought to one size before they reach the device, so that every full batch is the worst one.
"""

from functools import partial

import msgspec
import torch

from rigwise.records.batch import BatchProbe, BatchSearch
from rigwise.speech import say
from rigwise.train.batch.child import MakeDevice
from rigwise.train.batch.find import DEFAULT_EFFORT, find_batch
from rigwise.train.batch.search import Effort
from rigwise.train.batch.training import TorchTraining
from rigwise.train.batch.verdict import NoBatchHolds
from rigwise.train.picture_lab import PictureLab, PictureMaterial
from rigwise.train.step.plan import SMALLEST_BATCH

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
        model = inputs.model.to(device.torch_device).train()
        batches = iter(inputs.train_batches(ENDLESS_STEPS, 0))
        return TorchTraining(
            model=model,
            optimizer=torch.optim.AdamW(model.parameters(), lr=recipe.training.learning_rate),
            loss=inputs.loss,
            train_batch=lambda step: next(batches),
            val_batches=partial(self.material.eval_batches, self.material.pictures.val, batch_size),
        )


def with_found_batch(lab: PictureLab, make_device: MakeDevice, effort: Effort = DEFAULT_EFFORT) -> PictureLab:
    """The lab with the largest batch size that holds on its GPU; the search is in the run folder.

    Without a GPU the batch stays as the recipe has it, and the run folder says why.

    Raises:
        NoBatchHolds: no size does.
    """
    if not lab.device.is_gpu:
        why = say("the batch size was not searched: {why}", why=lab.no_gpu)
        lab.progress.tell(why)
        lab.writer.event("batch search", why)
        return lab
    material = msgspec.structs.replace(lab.material, cache=None)  # a child decodes the same pictures itself
    lab.progress.begin(say("searching the largest batch size that holds"), None)
    try:
        found = find_batch(
            PictureTraining(material=material, make_device=make_device),
            most=len(lab.pictures.train),
            smallest=SMALLEST_BATCH,
            effort=effort,
            make_device=make_device,
            told=lambda probe: lab.writer.event("batch search", probe_words(probe)),
        )
    except NoBatchHolds as error:
        lab.writer.event("batch search", f"{error.what}: {error.why}")
        raise
    finally:
        lab.progress.end()
    return _at(lab, found)


def probe_words(probe: BatchProbe) -> str:
    """What became of one size, in one sentence."""
    if probe.held:
        return say("batch {batch} ran {steps} steps", batch=probe.batch_size, steps=probe.steps)
    return say("batch {batch}: {text}", batch=probe.batch_size, text=probe.text)


def _at(lab: PictureLab, found: BatchSearch) -> PictureLab:
    """The lab at the size found, which leaves no room for a larger one."""
    before = lab.recipe.training
    if before.batch_size != found.batch_size:
        advice = say(
            "the learning rate {rate} was chosen for batch {before} and is kept at batch {batch}",
            rate=before.learning_rate,
            before=before.batch_size,
            batch=found.batch_size,
        )
        found = msgspec.structs.replace(found, notes=(*found.notes, advice))
    lab.writer.fact("batch_search", found)
    lab.progress.tell(say("batch {batch} holds", batch=found.batch_size))
    training = msgspec.structs.replace(before, batch_size=found.batch_size, larger_batch_size=found.batch_size)
    return msgspec.structs.replace(lab, recipe=msgspec.structs.replace(lab.recipe, training=training))
