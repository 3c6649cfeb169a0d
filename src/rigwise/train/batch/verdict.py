"""The error of a search that found no size which holds, and why in words."""

from collections.abc import Sequence

from rigwise.errors import ExitCode, RigwiseError
from rigwise.records.batch import BatchProbe, Breakdown, CauseName
from rigwise.speech import say
from rigwise.train.batch.causes import leak_words
from rigwise.units import memory

LEAK: CauseName = "leak"
OTHERS: CauseName = "other_process"
ELSEWHERE: CauseName = ""


class NoBatchHolds(RigwiseError):
    """No batch size ran to the end, or none can: there is no number to fall back to."""

    exit_code = ExitCode.PROBLEM

    def __init__(
        self,
        what: str,
        why: str,
        next_step: str,
        *,
        cause: CauseName,
        probes: Sequence[BatchProbe],
        breakdown: Breakdown | None = None,
    ) -> None:
        super().__init__(what, why, next_step)
        self.cause = cause
        self.probes = tuple(probes)
        self.breakdown = breakdown


def nothing_fits(probes: Sequence[BatchProbe], breakdown: Breakdown | None) -> NoBatchHolds:
    """Not even the smallest size fits: where the bytes go."""
    last = probes[-1]
    why = say("batch {batch}: {text}", batch=last.batch_size, text=last.text)
    if breakdown is not None:
        why += "\n" + breakdown_words(breakdown)
    if last.others:
        why += "\n" + last.others
    return NoBatchHolds(
        _what_does_not_fit(last),
        why,
        _smaller(last, breakdown)
        if not last.others
        else say("end the other programs on this GPU, or choose another GPU"),
        cause=last.cause,
        probes=probes,
        breakdown=breakdown,
    )


def breakdown_words(breakdown: Breakdown) -> str:
    """The bytes of a step by what they are for."""
    return say(
        "a step at batch {batch} needs at least {peak}: {parts}",
        batch=breakdown.batch_size,
        peak=memory(breakdown.peak_bytes),
        parts=_parts(breakdown),
    )


def predicted_and_measured(breakdown: Breakdown, need_bytes: int) -> str:
    """The prediction by what the bytes are for, never without what was measured."""
    return say(
        "{need} measured, {peak} predicted without running: {parts}",
        need=memory(need_bytes),
        peak=memory(breakdown.peak_bytes),
        parts=_parts(breakdown),
    )


def _parts(breakdown: Breakdown) -> str:
    return say(
        "parameters {parameters}, gradients {gradients}, optimiser {optimizer}, activations {activations}",
        parameters=memory(breakdown.parameters_bytes),
        gradients=memory(breakdown.gradients_bytes),
        optimizer=memory(breakdown.optimizer_bytes),
        activations=memory(breakdown.activations_bytes),
    )


def leaks(probes: Sequence[BatchProbe]) -> NoBatchHolds:
    """Memory grows until it ends: a smaller batch only dies later."""
    last = probes[-1]
    if last.growth is None and not last.kept_by_validation_bytes:
        return NoBatchHolds(
            say("memory runs out at step {step} whatever the batch", step=last.steps + 1),
            say("a leak outside of PyTorch's tensors, or one sample that is too large by itself"),
            say("look at what that step does first of all, and at what it keeps from the steps before"),
            cause=LEAK,
            probes=probes,
        )
    return NoBatchHolds(
        say("memory leaks: no batch size lasts"),
        leak_words(last),
        _keep_less(last),
        cause=LEAK,
        probes=probes,
    )


def _keep_less(last: BatchProbe) -> str:
    if last.growth is None:
        return say("keep no outputs of a validation on the GPU: add output.cpu() or a running sum; then search again")
    return say("keep no tensors from step to step: add loss.item() or loss.detach(), not loss; then search again")


def others_took(probes: Sequence[BatchProbe]) -> NoBatchHolds:
    """Another process took memory during a probe: what was free at its start no longer holds."""
    return NoBatchHolds(
        say("another process took memory during the search"),
        probes[-1].text,
        say("end the other programs on this GPU, or choose another GPU, then search again"),
        cause=OTHERS,
        probes=probes,
    )


def fails_anyway(probes: Sequence[BatchProbe]) -> NoBatchHolds:
    """A fault that memory does not explain."""
    last = probes[-1]
    return NoBatchHolds(
        say("the training fails at batch {batch}, and not for want of memory", batch=last.batch_size),
        say("in {phase}, after {steps} steps: {text}", phase=last.phase, steps=last.steps, text=last.text),
        say("run one step of it by itself and mend what it reports"),
        cause=last.cause,
        probes=probes,
    )


def another_rank_found_none(probes: Sequence[BatchProbe]) -> NoBatchHolds:
    """This rank found a size and another one did not."""
    return NoBatchHolds(
        say("another rank found no batch size that holds"),
        say("all ranks must use the same one; the other rank says why"),
        say("read what that rank reported; then start all ranks again"),
        cause=ELSEWHERE,
        probes=probes,
    )


def _what_does_not_fit(last: BatchProbe) -> str:
    match last.phase:
        case "validation":
            return say("the validation does not fit, even with training at batch {batch}", batch=last.batch_size)
        case "checkpoint":
            return say("the checkpoint does not fit, even with training at batch {batch}", batch=last.batch_size)
    return say("batch {batch} does not fit", batch=last.batch_size)


def _smaller(last: BatchProbe, breakdown: Breakdown | None) -> str:
    """What helps most, by what takes most."""
    if last.others:
        return say("end the other programs on this GPU, or choose another GPU")
    if last.phase == "validation":
        return say("validate in smaller batches, under torch.no_grad(), and keep its outputs on the CPU")
    if last.phase == "checkpoint":
        return say("move the state to the CPU tensor by tensor to save it, and load with map_location='cpu'")
    if breakdown is None or breakdown.activations_bytes > breakdown.peak_bytes / 2:
        return say("use mixed precision, activation checkpointing, or smaller pictures or shorter sequences")
    if breakdown.optimizer_bytes >= breakdown.parameters_bytes:
        return say("use an 8-bit optimiser, freeze a part of the model, or take a smaller model")
    return say("take a smaller model, or a GPU with more memory")
