"""A full trial and its row of the comparison.

Where memory runs out, the step itself first takes the batch in smaller micro-batches; where even those do not fit, or a
validation does not, the trial starts again at half the batch.
"""

import gc
from collections.abc import Mapping, Sequence

import msgspec
from torch import Tensor

from rigwise.records.run import Step, TrialResult
from rigwise.speech import say
from rigwise.statistics import percentile
from rigwise.telemetry.summary import Summary
from rigwise.train.batch.others import others_on
from rigwise.train.batch.recognise import out_of_memory
from rigwise.train.batch.update import UpdateDoesNotFit
from rigwise.train.checkpoint.run_checkpoints import OUT_OF_MEMORY
from rigwise.train.checkpoint.trial import Checkpointing
from rigwise.train.knobs.early_stop import early_stop
from rigwise.train.lab import Lab
from rigwise.train.memory_snapshot import leave_snapshot, start_recording, stop_recording
from rigwise.train.progress import Progress
from rigwise.train.step.ledger import Ledger, LossIsNotFinite
from rigwise.train.step.plan import SMALLEST_BATCH, TrialPlan
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import TrialInputs, TrialState
from rigwise.train.step.trial import TrialOutcome, Watcher, run_trial

SETTLING_STEPS = 3
"""Left out of step times: memory is taken and kernels are chosen in the first steps."""


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial that ran to the end leaves."""

    result: TrialResult
    steps: tuple[Step, ...]
    weights: dict[str, Tensor]
    """State dict, on the CPU."""
    review: Scored
    """On the split nobody chose by: test, or validation where there is no test split."""


class Advance:
    """Moves the progress bar; a trial's watcher."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def began(self, state: TrialState) -> None:
        """The bar moves with the first step."""

    def stepped(self, state: TrialState) -> None:
        """One step further."""
        self._progress.update(state.step, state.plan.steps)

    def goes_on(self, state: TrialState) -> bool:
        """Always."""
        return True


class Recording:
    """Has PyTorch record who takes a GPU's memory, in the first steps alone: they are not measured, and settle it."""

    def began(self, state: TrialState) -> None:
        """From here on."""
        self._steps_left = SETTLING_STEPS
        start_recording(state.device)

    def stepped(self, state: TrialState) -> None:
        """Up to the steps whose times count."""
        self._steps_left -= 1
        if self._steps_left == 0:
            stop_recording(state.device)

    def goes_on(self, state: TrialState) -> bool:
        """Always."""
        return True


class TrialEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How one trial ended."""

    row: TrialResult
    left: Trained | None = None
    """None where it did not run to the end."""
    ran_out: bool = False
    """Whether that was for want of memory."""


def run_full_trial(lab: Lab, name: str, precision: str, batch_size: int) -> tuple[list[TrialResult], Trained | None]:
    """The rows this trial adds to the comparison, and what it left when some batch size ran to the end."""
    rows: list[TrialResult] = []
    while True:
        plan = lab.plan(_unique(name, rows, batch_size), precision, batch_size)
        end = _given_up_before(lab, plan) or _attempt(lab, plan)
        rows.append(end.row)
        if not end.ran_out or batch_size // 2 < SMALLEST_BATCH:
            return rows, end.left
        # The exception, and with it every frame that held activations, is gone by now.
        gc.collect()
        lab.device.reset_peak()
        batch_size //= 2
        lab.progress.tell(say("{name}: out of memory, trying batch {batch}", name=plan.name, batch=batch_size))


def _unique(name: str, rows: Sequence[TrialResult], batch_size: int) -> str:
    return name if not rows else f"{name} batch {batch_size}"


def _given_up_before(lab: Lab, plan: TrialPlan) -> TrialEnd | None:
    """How the trial failed in an earlier process of this run; one that ran to the end is taken from its checkpoint."""
    row = lab.row(plan.name)
    if lab.checkpoints is None or row is None or row.not_run is None:
        return None
    return TrialEnd(row=row, ran_out=lab.checkpoints.ran_out(plan.name))


def _attempt(lab: Lab, plan: TrialPlan) -> TrialEnd:
    """The trial trained: what it left, or that it ran out of memory, or why no smaller batch would help it."""
    others = others_on(lab.device)
    if others:
        lab.writer.event("memory", f"{plan.name}: {others}")
    inputs = lab.inputs(plan.batch_size)
    began = lab.writer.elapsed()
    ledger = Ledger(plan.name, lab.writer.elapsed, lab.writer.record, lab.writer.record)
    lab.progress.begin(say("{name}, batch {batch}", name=plan.name, batch=plan.batch_size), plan.steps)
    try:
        with lab.device.using():
            outcome = run_trial(plan, inputs, lab.device, ledger, _watchers(lab, plan, inputs, ledger))
            review = inputs.review(inputs.model.eval(), outcome.precision)
    except LossIsNotFinite as error:
        return TrialEnd(row=lab.keep(_did_not_finish(lab, plan, str(error))))
    except (RuntimeError, MemoryError) as error:
        ran_out = out_of_memory(error)
        if ran_out is None:
            raise
        held = leave_snapshot(lab.device, lab.folder.memory_snapshot)  # while the tensors are there
        if held:
            lab.writer.event("memory", f"{plan.name}: {held}")
        if isinstance(error, UpdateDoesNotFit):
            return TrialEnd(row=lab.keep(_did_not_finish(lab, plan, str(error))))
        lab.writer.event(OUT_OF_MEMORY, f"{plan.name}: {ran_out.text}")
        why = say("out of memory: {account}", account=ran_out.text)
        return TrialEnd(row=lab.keep(_did_not_finish(lab, plan, why)), ran_out=True)
    finally:
        stop_recording(lab.device)
        lab.progress.end()
    for note in outcome.notes if lab.row(plan.name) is None else ():
        lab.writer.event("recovered", f"{plan.name}: {note}")
    row = lab.keep(_row(lab, plan, ledger.steps, outcome, began))
    weights = {key: value.detach().cpu().clone() for key, value in inputs.model.state_dict().items()}
    return TrialEnd(row=row, left=Trained(result=row, steps=tuple(ledger.steps), weights=weights, review=review))


def _watchers(lab: Lab, plan: TrialPlan, inputs: TrialInputs, ledger: Ledger) -> list[Watcher]:
    """Who is told how the trial goes on; checkpoints come last, since they keep what the others know."""
    watchers: list[Watcher] = [Advance(lab.progress), Recording(), *early_stop(plan.knobs)]
    if lab.checkpoints is not None:
        watchers.append(Checkpointing(lab.checkpoints, plan, inputs, ledger, lab.trial_fingerprint(plan)))
    return watchers


def _row(lab: Lab, plan: TrialPlan, steps: Sequence[Step], outcome: TrialOutcome, began: float) -> TrialResult:
    settled = steps[min(SETTLING_STEPS, len(steps) // 2) :]
    times = [step.step_seconds for step in settled]
    mean = sum(times) / len(times)
    memory = outcome.memory
    gpu = lab.gpu_during(began, lab.writer.elapsed())
    return TrialResult(
        name=plan.name,
        device=lab.device.name,
        precision=outcome.precision,
        batch_size=plan.batch_size,
        image_size=plan.image_size,
        steps=len(steps),
        step_mean_seconds=mean,
        step_p95_seconds=percentile(times, 95),
        data_wait_ratio=min(1.0, sum(step.data_seconds for step in settled) / sum(times)),
        peak_allocated_bytes=memory.peak_allocated if memory else None,
        peak_reserved_bytes=memory.peak_reserved if memory else None,
        memory_total_bytes=memory.total if memory else None,
        gpu_utilization_ratio=_mean(gpu, "gpu_utilization_ratio"),
        temperature_celsius=_mean(gpu, "temperature_celsius"),
        power_draw_watts=_mean(gpu, "power_draw_watts"),
        val_correct=outcome.scores.num_correct,
        val_total=outcome.scores.num_answers,
        note="; ".join((*outcome.notes, *outcome.remarks)),
        **lab.measured(plan.batch_size, len(steps), mean, outcome.scores),
    )


def _mean(metrics: Mapping[str, Summary], name: str) -> float | None:
    return metrics[name].mean if name in metrics else None


def _did_not_finish(lab: Lab, plan: TrialPlan, why: str) -> TrialResult:
    return TrialResult(
        name=plan.name,
        device=lab.device.name,
        precision=plan.precision,
        batch_size=plan.batch_size,
        image_size=plan.image_size,
        steps=0,
        not_run=why,
    )
