"""The ceilings of a trial of the guided experiment: its own loop, run once more for measuring."""

from collections.abc import Iterator

from rigwise.records.ceilings import CeilingsReport
from rigwise.records.run import TrialResult
from rigwise.train.ceilings.measure import Options, ceilings
from rigwise.train.ceilings.pace import Sampling
from rigwise.train.ceilings.parts import LOGGING, part
from rigwise.train.lab import Lab
from rigwise.train.step.ledger import Ledger
from rigwise.train.step.state import Batch, TrialState
from rigwise.train.step.step_clock import step_clock

NEVER_ENDING = 10**9
"""Steps for which batches are asked; they are made as they are taken."""


class TrialFeed:
    """The batches of a trial, with any number of loader threads."""

    def __init__(self, lab: Lab, batch_size: int, num_threads: int) -> None:
        self.num_threads = num_threads
        self._lab = lab
        self._batch_size = batch_size

    def __iter__(self) -> Iterator[Batch]:
        """From the first batch on."""
        return iter(self._lab.feed(self._batch_size, self.num_threads, NEVER_ENDING))


def trial_ceilings(lab: Lab, trial: TrialResult) -> CeilingsReport:
    """What bounds this trial's loop, and what would make it faster; nothing of the experiment changes."""
    plan = lab.plan(trial.name, trial.precision, trial.batch_size)
    inputs = lab.inputs(trial.batch_size)
    state = TrialState(plan, inputs, lab.device)
    clock = step_clock(lab.device)
    ledger = Ledger(plan.name, lab.writer.elapsed, lambda _: None, lambda _: None)

    def step(batch: Batch) -> None:
        loss = state.take_step(batch)
        with part(LOGGING):
            clock.end_step()
            ledger.note(loss, 0.0, clock)

    section = lab.recipe.ceilings
    sampling = Sampling(seconds=section.seconds, lever_seconds=section.lever_seconds, max_seconds=section.max_seconds)
    options: Options = {
        "model": state.model,
        "optimizer": state.optimizer,
        "device": lab.device.torch_device,
        "sampling": sampling,
        "progress": lab.progress,
    }
    if lab.loader_threads:
        options["with_workers"] = lambda count: TrialFeed(lab, trial.batch_size, count)
    with lab.device.using():
        return ceilings(TrialFeed(lab, trial.batch_size, lab.loader_threads), step, **options)
