"""Why a probe did not hold: told from its own course, before other sizes are compared.

How to tell: memory in use grows steadily: a leak. Others took memory meanwhile: another process. Much reserved that no
tensor uses: fragmentation. It ran well and then one step, a validation or a checkpoint did not fit: a late peak. Else
the batch is too large. Whether the step of death moves with the batch is the search's question.
"""

import msgspec

from rigwise.checks.out_of_vram import FRAGMENTED_RATIO
from rigwise.probes.programs.allocation_failures import allocation_failures
from rigwise.records.batch import BatchProbe, CauseName
from rigwise.records.gpu import GpuProcess
from rigwise.speech import say
from rigwise.train.batch.child import SETTLED_STEPS
from rigwise.train.batch.others import held_by_others, is_much, named
from rigwise.train.headroom import LARGEST_SHARE
from rigwise.train.step.device import DeviceMemory
from rigwise.units import memory, percent


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the memory around a failed probe."""

    start: DeviceMemory | None = None
    end: DeviceMemory | None = None
    """At the failure, while its tensors were alive."""
    outside_grew_bytes: int = 0
    """The most by which memory in use outside of PyTorch's allocator exceeded that of the start."""
    holders: tuple[GpuProcess, ...] = ()
    """Processes that hold the GPU's memory after the probe has ended."""


def explain(probe: BatchProbe, evidence: Evidence) -> BatchProbe:
    """The probe with its cause and the sentence that says it."""
    cause = _cause(probe, evidence)
    others = held_by_others(evidence.start, evidence.holders) if evidence.start else ""
    shown = msgspec.structs.replace(probe, cause=cause, text=_opening(probe.text), others=others)
    return msgspec.structs.replace(shown, text=_sentence(cause, shown, evidence))


def _opening(text: str) -> str:
    """The first two sentences: torch's text has numbers for a page, and its first two say what was asked for.

    >>> _opening("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB.")
    'CUDA out of memory. Tried to allocate 2.00 GiB'
    """
    return ". ".join(text.split(". ")[:2]).rstrip(".")


def _cause(probe: BatchProbe, evidence: Evidence) -> CauseName:
    match probe.ended:
        case "crashed":
            return "crash"
        case "hung":
            return "hang"
        case "failed":
            return "fault"
    if probe.growth is not None and probe.growth.outside_pytorch and _holders_took(evidence):
        return "other_process"
    if probe.ended == "ran":
        return ""
    if (probe.growth or probe.kept_by_validation_bytes) and probe.ended in ("out_of_memory", "spilled"):
        return "leak"
    if is_much(evidence.outside_grew_bytes, probe.total_bytes or 0):
        return "other_process"
    if probe.ended in ("spilled", "tight"):
        return "spill" if probe.ended == "spilled" else "too_big"
    if _cached_bytes(evidence) >= max(_requested_bytes(probe.text), FRAGMENTED_RATIO * (probe.total_bytes or 1), 1):
        return "fragmentation"
    is_late = probe.phase in ("validation", "checkpoint") or probe.steps >= SETTLED_STEPS
    return "late_peak" if is_late else "too_big"


def _holders_took(evidence: Evidence) -> bool:
    """Whether what grew outside of PyTorch is still held, now that the probe is gone: then it was never the probe's."""
    start = evidence.start
    if start is None:
        return False
    held_before = start.total - start.free - start.reserved
    held_after = sum(holder.used_bytes or 0 for holder in evidence.holders)
    return held_after - held_before >= evidence.outside_grew_bytes / 2


def _cached_bytes(evidence: Evidence) -> int:
    end = evidence.end
    return end.reserved - end.allocated if end else 0


def _requested_bytes(text: str) -> int:
    return max((failure.requested_bytes or 0 for failure in allocation_failures(text, "probe")), default=0)


def _sentence(cause: CauseName, probe: BatchProbe, evidence: Evidence) -> str:
    match cause:
        case "leak":
            return leak_words(probe)
        case "other_process":
            return say(
                "other programs took {size} while it ran: {names}",
                size=memory(evidence.outside_grew_bytes),
                names=named(evidence.holders),
            )
        case "fragmentation":
            return say(
                "{cached} reserved by PyTorch but in pieces too small (fragmentation): {said}",
                cached=memory(_cached_bytes(evidence)),
                said=probe.text,
            )
        case "late_peak":
            return say(
                "{steps} steps fitted, then {where}: {said}", steps=probe.steps, where=_where(probe), said=probe.text
            )
        case "spill":
            return say(
                "it took {need} where {free} was free: the driver moved the rest to the machine's RAM, which is slow",
                need=memory(probe.need_bytes or 0),
                free=memory(probe.free_at_start_bytes or 0),
            )
        case "too_big" if probe.ended == "tight":
            return say(
                "it took {need}, over {share} of the {free} free",
                need=memory(probe.need_bytes or 0),
                share=percent(LARGEST_SHARE),
                free=memory(probe.free_at_start_bytes or 0),
            )
    return probe.text


def spilled_unseen(probe: BatchProbe, times_slower: float) -> BatchProbe:
    """A probe that ran, and so slowly that memory which was counted as free was not the card's own."""
    text = say(
        "a sample takes {times} times as long as in a smaller batch, at {need} of the {free} free: the driver seems to "
        "have moved a part to the machine's RAM",
        times=round(times_slower),
        need=memory(probe.need_bytes or 0),
        free=memory(probe.free_at_start_bytes or 0),
    )
    return msgspec.structs.replace(probe, ended="spilled", cause="spill", text=text)


def leak_words(probe: BatchProbe) -> str:
    """How memory grew, and when it ends."""
    growth = probe.growth
    if growth is None:
        return _kept_words(probe)
    rate = memory(growth.bytes_per_step)
    if growth.outside_pytorch:
        return say(
            "memory outside of PyTorch's tensors grew by {rate} a step, over {steps} steps",
            rate=rate,
            steps=probe.steps,
        )
    if probe.ended == "out_of_memory":
        return say("memory grew by {rate} a step and ended at step {step}", rate=rate, step=probe.steps + 1)
    if growth.step_of_death is None:
        return say("memory grew by {rate} a step", rate=rate)
    return say("memory grew by {rate} a step; it ends at step {step}", rate=rate, step=growth.step_of_death)


def _kept_words(probe: BatchProbe) -> str:
    kept = memory(probe.kept_by_validation_bytes)
    if probe.ended == "out_of_memory":
        return say("each validation keeps {kept}: the second one did not fit", kept=kept)
    lasts = validations_left(probe)
    if lasts is None:
        return say("each validation keeps {kept}", kept=kept)
    return say("each validation keeps {kept}: memory ends after {count} more", kept=kept, count=lasts)


def validations_left(probe: BatchProbe) -> int | None:
    """How many more validations fit when each keeps what it kept; None where that is not known, or nothing is kept."""
    if not probe.kept_by_validation_bytes or probe.free_at_start_bytes is None or probe.need_bytes is None:
        return None
    return max(0, probe.free_at_start_bytes - probe.need_bytes) // probe.kept_by_validation_bytes


def _where(probe: BatchProbe) -> str:
    match probe.phase:
        case "validation":
            return say("the validation did not")
        case "checkpoint":
            return say("the checkpoint did not")
    return say("step {step} did not", step=probe.steps + 1)
