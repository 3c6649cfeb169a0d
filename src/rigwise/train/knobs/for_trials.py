"""The learning rate of a guided experiment: the sweep on its own first trial, whatever the kind of data."""

from collections.abc import Iterator
from typing import TypeVar

import msgspec
from torch import Tensor

from rigwise.records.learning_rate import LearningRateSearch
from rigwise.speech import say
from rigwise.train.knobs.find_lr import NUM_STEPS, find_lr
from rigwise.train.lab import Lab
from rigwise.train.recipe_sections import Recipe
from rigwise.train.step.state import Batch, TrialInputs, begin_trial

L = TypeVar("L", bound=Lab)


class TrialBatches:
    """The first batches of a trial; gone through again, they are the same."""

    def __init__(self, inputs: TrialInputs) -> None:
        self._inputs = inputs

    def __iter__(self) -> Iterator[Batch]:
        """From the first batch on."""
        return iter(self._inputs.train_batches(NUM_STEPS, 0))


def with_found_lr(lab: L) -> L:
    """The lab at the learning rate the sweep suggests; as it is where it suggests none, and the run folder says why."""
    training = lab.recipe.training
    lab.progress.begin(say("searching the learning rate"), NUM_STEPS)
    try:
        with lab.device.using():
            found = swept(lab)
    finally:
        lab.progress.end()
    lab.writer.fact("lr_search", found)
    if found.suggestion is None:
        lab.progress.tell(say("learning rate {rate} stays: {why}", rate=training.learning_rate, why=found.why_not))
        return lab
    rate = float(f"{found.suggestion:.2g}")  # no sweep knows more digits
    lab.progress.tell(say("learning rate {rate}, where the loss falls well", rate=rate))
    return msgspec.structs.replace(lab, recipe=at_rate(lab.recipe, rate))


def at_rate(recipe: Recipe, rate: float) -> Recipe:
    """The recipe at this learning rate; of texts, whose own rate leads, that one too."""
    training = msgspec.structs.replace(recipe.training, learning_rate=rate)
    text = msgspec.structs.replace(recipe.text, learning_rate=rate) if recipe.text.learning_rate else recipe.text
    return msgspec.structs.replace(recipe, training=training, text=text)


def swept(lab: Lab) -> LearningRateSearch:
    """The sweep, on a fresh model in fp32."""
    plan = lab.plan(say("learning rate"), "fp32", lab.recipe.training.batch_size)
    inputs = lab.inputs(plan.batch_size)
    state = begin_trial(plan, inputs, lab.device)

    def step(batch: Batch) -> Tensor:
        loss = state.take_step(batch)
        lab.progress.advance()
        return loss

    return find_lr(
        TrialBatches(inputs),
        step,
        model=state.model,
        optimizer=state.optimizer,
        place=lambda batch: batch,
    )
