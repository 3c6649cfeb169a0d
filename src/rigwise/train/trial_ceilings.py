"""The ceilings of a trial of the guided experiment: its own loop, run once more for measuring."""

from torch import Tensor

from rigwise.records.ceilings import CeilingsReport
from rigwise.records.run import TrialResult
from rigwise.train.ceilings.measure import ceilings
from rigwise.train.ceilings.pace import Sampling
from rigwise.train.ceilings.parts import LOGGING, part
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.loader import Batches
from rigwise.train.step.ledger import Ledger
from rigwise.train.step.state import make_optimizer, steps_of
from rigwise.train.step.step_clock import step_clock

NEVER_ENDING = 10**9
"""Steps for which batches are asked; they are made as they are taken."""


class TrialFeed:
    """The batches of a trial, with any number of decode threads."""

    def __init__(self, lab: PictureLab, batch_size: int, num_threads: int) -> None:
        self.num_threads = num_threads
        stream = lab.material.stream(lab.pictures.train, batch_size)
        stream.num_threads = num_threads
        self._stream = stream

    def __iter__(self) -> Batches:
        """From the first batch on."""
        return self._stream.train_batches(NEVER_ENDING)


def trial_ceilings(lab: PictureLab, trial: TrialResult) -> CeilingsReport:
    """What bounds this trial's loop, and what would make it faster; nothing of the experiment changes."""
    plan = lab.plan(trial.name, trial.precision, trial.batch_size)
    inputs = lab.inputs(trial.batch_size)
    model = inputs.model.to(lab.device.torch_device).train()
    optimizer = make_optimizer(model, plan)
    take_step = steps_of(plan, inputs, lab.device, optimizer)
    clock = step_clock(lab.device)
    ledger = Ledger(plan.name, lab.writer.elapsed, lambda _: None, lambda _: None)

    def step(batch: tuple[Tensor, Tensor]) -> None:
        loss = take_step(batch)
        with part(LOGGING):
            clock.end_step()
            ledger.note(loss, 0.0, clock)

    section = lab.recipe.ceilings
    sampling = Sampling(seconds=section.seconds, lever_seconds=section.lever_seconds, max_seconds=section.max_seconds)
    with lab.device.using():
        return ceilings(
            TrialFeed(lab, trial.batch_size, lab.recipe.loader.num_threads),
            step,
            model=model,
            optimizer=optimizer,
            device=lab.device.torch_device,
            with_workers=lambda count: TrialFeed(lab, trial.batch_size, count),
            sampling=sampling,
            progress=lab.progress,
        )
