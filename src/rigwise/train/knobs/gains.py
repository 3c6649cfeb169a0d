"""What each knob costs and gains: the recommended trial with it and without it, in turn, on the same batches."""

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import torch
from torch import Tensor

from rigwise.records.ceilings import LeverResult
from rigwise.records.knobs import KnobResult, KnobsReport, Peak, TrialPeak
from rigwise.records.run import TrialResult
from rigwise.speech import say
from rigwise.train.batch.parity import gradient_parity
from rigwise.train.ceilings.comparing import try_lever
from rigwise.train.ceilings.lever import replaced
from rigwise.train.ceilings.loop import Loop
from rigwise.train.ceilings.pace import Sampling
from rigwise.train.ceilings.stages import NUM_CACHED
from rigwise.train.ceilings.timeline import timeline_of
from rigwise.train.knobs.peaks import predicted_peaks
from rigwise.train.knobs.section import KnobsSection
from rigwise.train.knobs.variants import Variant, variants
from rigwise.train.knobs.weighing import Side, variant_row, weigh
from rigwise.train.lab import Lab
from rigwise.train.step.chance import without_chance
from rigwise.train.step.device import placed
from rigwise.train.step.plan import TrialPlan
from rigwise.train.step.state import Batch, TrialState, begin_trial

NUM_COMPARED = 3
"""Steps whose losses are compared: the second shows the first update, the third its optimiser state."""


def trial_peaks(lab: Lab, rows: Sequence[TrialResult]) -> tuple[TrialPeak, ...]:
    """The peak of each full trial, predicted in a child process beside measured."""
    if not lab.recipe.knobs.predict_peak:
        return ()
    full = [row for row in rows if row.not_run is None and row.val_total]
    lab.progress.begin(say("predicting peak memory"), None)
    try:
        plans = [lab.plan(row.name, row.precision, row.batch_size) for row in full]
        found = _predicted(lab, plans) if plans else []
    finally:
        lab.progress.end()
    return tuple(
        TrialPeak(
            trial=row.name,
            predicted=peak if isinstance(peak, Peak) else None,
            why_not="" if isinstance(peak, Peak) else peak,
            allocated_bytes=row.peak_allocated_bytes,
            reserved_bytes=row.peak_reserved_bytes,
        )
        for row, peak in zip(full, found, strict=True)
    )


def _predicted(lab: Lab, plans: Sequence[TrialPlan]) -> list[Peak | str]:
    """The peak of each plan, or why there is none: a prediction never ends a run."""
    try:
        return predicted_peaks(lab.inputs_elsewhere, plans)
    except Exception as error:  # what cannot be sent to a child, or built there
        return [str(getattr(error, "what", error)) or type(error).__name__] * len(plans)


def with_knobs(lab: Lab, trial: TrialResult, report: KnobsReport, *, every: bool) -> KnobsReport:
    """The report with the knobs of the recipe, or every one that applies, compared on this trial."""
    on_gpu = lab.device.is_gpu
    chosen = list(variants(lab.recipe.knobs, precision=trial.precision, every=every, on_gpu=on_gpu))
    if not chosen:
        return report
    comparison = _Comparison(lab, trial)
    lab.progress.begin(say("knobs, one at a time"), len(chosen))
    try:
        with lab.device.using():
            results = tuple(comparison.results(chosen))
    finally:
        lab.progress.end()
    return msgspec.structs.replace(report, trial=trial.name, knobs=results)


class _Comparison:
    """One trial's plan and first batches, on which every knob is compared."""

    def __init__(self, lab: Lab, trial: TrialResult) -> None:
        self.lab = lab
        self.plan = lab.plan(trial.name, trial.precision, trial.batch_size)
        self.batches = list(lab.inputs(trial.batch_size).train_batches(NUM_CACHED, 0))
        section = lab.recipe.ceilings
        self.sampling = Sampling(seconds=section.seconds, lever_seconds=section.lever_seconds)
        self._sides: dict[KnobsSection, Side] = {}

    def results(self, chosen: Sequence[Variant]) -> Iterator[KnobResult]:
        """What became of each knob, in order."""
        tried = [one for one in chosen if not one.why_not and one.on.predict_peak]
        peaks = self._predicted(tried)
        for variant in chosen:
            yield self._result(variant, peaks)
            self.lab.progress.advance()

    def _predicted(self, tried: Sequence[Variant]) -> dict[KnobsSection, Peak]:
        different = list(dict.fromkeys(knobs for variant in tried for knobs in (variant.off, variant.on)))
        found = _predicted(self.lab, [self._with(knobs) for knobs in different]) if different else []
        pairs = zip(different, found, strict=True)
        return {knobs: peak for knobs, peak in pairs if isinstance(peak, Peak)}

    def _with(self, knobs: KnobsSection) -> TrialPlan:
        return msgspec.structs.replace(self.plan, knobs=knobs)

    def _result(self, variant: Variant, peaks: dict[KnobsSection, Peak]) -> KnobResult:
        told = variant_row(variant)
        if variant.why_not:
            return told
        try:
            timed = self._timed(variant)
            if timed.why_not:
                return msgspec.structs.replace(told, why_not=timed.why_not)
            off, on = (
                msgspec.structs.replace(self._side(knobs), predicted=peaks.get(knobs))
                for knobs in (variant.off, variant.on)
            )
        except Exception as error:  # a model may not take a knob, a library may be missing: that is its result
            lines = str(getattr(error, "what", error)).splitlines() or [type(error).__name__]
            return msgspec.structs.replace(told, why_not=say("it failed: {error}", error=lines[0][:200]))
        finally:
            self._free()
        if off.note or on.note:
            return msgspec.structs.replace(told, why_not=off.note or on.note)
        return self._with_parity(variant, weigh(variant, timed, off, on))

    def _with_parity(self, variant: Variant, result: KnobResult) -> KnobResult:
        """Of micro-batches, also whether they give the gradient of the whole batch, and what breaks it."""
        if variant.on.accumulation_steps == variant.off.accumulation_steps:
            return result
        inputs = self.lab.inputs(self.plan.batch_size)
        model = placed(inputs.model, self.lab.device).train()
        parity = gradient_parity(model, inputs.loss, self.batches[0], inputs.count)
        return msgspec.structs.replace(result, because=f"{result.because}; {parity.text}")

    def _timed(self, variant: Variant) -> LeverResult:
        """Both in turn, set-up charged to the knob; the rates are samples per second."""
        off, on = self._begun(variant.off), self._begun(variant.on)
        loop = Loop(
            loader=self.batches,
            step=_stepping(off),
            place=lambda batch: batch,
            count=lambda batch: len(batch[0]),
            device=self.lab.device.torch_device,
        )
        lever = replaced(variant.name, "step", lambda _: _stepping(on))
        timed = try_lever(loop, timeline_of(loop.device), lever, self.sampling, self.plan.steps)
        changed = [*off.take_step.notes, *on.take_step.notes]
        return msgspec.structs.replace(timed, why_not=timed.why_not or (changed[0] if changed else ""))

    def _begun(self, knobs: KnobsSection) -> TrialState:
        return begin_trial(self._with(knobs), self.lab.inputs(self.plan.batch_size), self.lab.device)

    def _side(self, knobs: KnobsSection) -> Side:
        """Its first steps, measured once."""
        if knobs not in self._sides:
            self._free()
            self._sides[knobs] = first_steps(self._begun(knobs), self.batches[:NUM_COMPARED])
        return self._sides[knobs]

    def _free(self) -> None:
        gc.collect()
        self.lab.device.reset_peak()


def _stepping(state: TrialState) -> Any:
    def step(batch: Batch) -> None:
        state.take_step(batch)
        state.stepped()

    return step


def first_steps(state: TrialState, batches: Sequence[Batch]) -> Side:
    """Losses, first gradient and peak of these steps; layers that draw random numbers do nothing meanwhile."""
    learning = [parameter for parameter in state.model.parameters() if parameter.requires_grad]
    gradients = [torch.zeros(parameter.numel()) for parameter in learning]

    def adding_to(gradient: Tensor) -> Callable[[Tensor], None]:
        def add(part: Tensor) -> None:
            # Told of each micro-batch, before an update in backward frees what it was told of.
            if state.step == 0:
                gradient.add_(part.detach().float().cpu().flatten())

        return add

    losses = []
    hooks = [each.register_hook(adding_to(gradient)) for each, gradient in zip(learning, gradients, strict=True)]
    try:
        with without_chance(state.model):
            for batch in batches:
                losses.append(state.take_step(batch).item())
                state.stepped()
    finally:
        for hook in hooks:
            hook.remove()
    memory = state.device.memory()
    return Side(
        losses=tuple(losses),
        gradient=torch.cat(gradients),
        peak_bytes=memory.peak_allocated if memory else None,
        note=next(iter(state.take_step.notes), ""),
    )
