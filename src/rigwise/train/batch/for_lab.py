"""The batch size of a guided experiment, whatever its samples are: searched, told, and kept in the run folder."""

from typing import TypeVar

import msgspec

from rigwise.records.batch import BatchProbe, BatchSearch
from rigwise.speech import say
from rigwise.train.batch.child import Build, MakeDevice
from rigwise.train.batch.find import find_batch
from rigwise.train.batch.search import Effort
from rigwise.train.batch.verdict import NoBatchHolds
from rigwise.train.lab import Lab
from rigwise.train.step.plan import SMALLEST_BATCH

L = TypeVar("L", bound=Lab)


def searched(lab: L, build: Build, most: int, make_device: MakeDevice, effort: Effort) -> L:
    """The lab with the largest batch size, at most `most`, that holds on its GPU; the search is in the run folder.

    Without a GPU the batch stays as the recipe has it, and the run folder says why.

    Raises:
        NoBatchHolds: no size does.
    """
    if not lab.device.is_gpu:
        why = say("the batch size was not searched: {why}", why=lab.no_gpu)
        lab.progress.tell(why)
        lab.writer.event("batch search", why)
        return lab
    lab.progress.begin(say("searching the largest batch size that holds"), None)
    try:
        found = find_batch(
            build,
            most=most,
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


def _at(lab: L, found: BatchSearch) -> L:
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
