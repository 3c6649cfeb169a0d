"""The GPU ran out of memory.

What: a program asked for VRAM and did not get it.
Why: the batch, the sequences or the model are too large; or the memory is there in pieces, or held by others, or
taken by a limit. Each has another cure.
How to tell: the numbers of the error text. More than the card has: a wrong shape, or too large by itself. Enough free:
a limit or another program. As much reserved but unallocated as was asked for: fragmentation. Much in use outside the
process: other programs. A small request after many steps: growth. Otherwise the process itself needs too much.
"""

from collections.abc import Iterator

from rigwise.records.evidence import Status
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.told import AllocationFailure
from rigwise.speech import say
from rigwise.units import memory, percent

ABSURD_TIMES = 4
"""Our choice: nobody plans one tensor of four times the card; a wrong shape gives hundreds of times."""
LARGEST_CARD_BYTES = 2**40
"""No card has 1 TiB; for a text that does not say how large its card is."""
FRAGMENTED_RATIO = 0.1
"""Our choice: of 8 GiB, 800 MiB in pieces. Below it the card is simply full."""
FREE_RATIO = 0.1
"""Our choice: so much of the card is more than what comes and goes while the text is written."""
OTHERS_RATIO = 0.1
OTHERS_BYTES = 2**30
"""Our choice: CUDA's own share of a process takes 0.3 to 0.7 GiB outside of what PyTorch counts; more is others'."""
GROWTH_RATIO = 0.05
GROWTH_STEPS = 100
"""Our choice: after so many steps the batch did fit; a small request then fails because something grew."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each way in which memory ran out, the first one first."""
    told: set[str] = set()
    for failure in rig.allocation_failures.need():
        problem = _problem(failure)
        if problem.because not in told and problem.action not in told:
            told |= {problem.because, problem.action}
            yield problem


def _problem(failure: AllocationFailure) -> Problem:
    because, action, steps = _told_apart(failure)
    severity = Severity.NOTE if failure.recovered else None
    reading = Reading("out-of-memory text", failure, Status.OK, failure.quote)
    return Problem(because, (reading,), steps, severity, action=action)


def _told_apart(failure: AllocationFailure) -> tuple[str, str, tuple[str, ...]]:
    """Why it failed, what to do, and commands."""
    asked, total = failure.requested_bytes or 0, failure.total_bytes
    if asked >= ABSURD_TIMES * (total or LARGEST_CARD_BYTES):
        return _absurd(asked, total)
    if failure.program == "vLLM" and failure.allocated_bytes is None:
        return _share_taken(failure)
    if total is not None and asked > total:
        return _larger_than_card(asked, total)
    if failure.free_bytes is not None and failure.free_bytes >= max(asked, FREE_RATIO * (total or 0)):
        return _free_but_refused(failure)
    if total is not None and (failure.cached_bytes or 0) >= max(asked, FRAGMENTED_RATIO * total):
        return _fragmented(failure)
    others = _others_bytes(failure)
    if total is not None and others is not None and _others_to_blame(failure, others, total):
        return _held_by_others(failure, others, total)
    if total is not None and (failure.num_steps_before or 0) >= GROWTH_STEPS and asked <= GROWTH_RATIO * total:
        return _grew(failure)
    return _too_big(failure)


def _others_bytes(failure: AllocationFailure) -> int | None:
    """VRAM in use outside of this process, as far as the text tells."""
    if failure.total_bytes is None or failure.free_bytes is None or failure.allocated_bytes is None:
        return None
    if failure.process_bytes is None and failure.cached_bytes is None:
        return None
    own = failure.process_bytes or failure.allocated_bytes + (failure.cached_bytes or 0)
    return failure.total_bytes - failure.free_bytes - own


def _others_to_blame(failure: AllocationFailure, others: int, total: int) -> bool:
    """Whether they hold much, and enough for the request."""
    room = others + (failure.free_bytes or 0) + (failure.cached_bytes or 0)
    return others >= max(OTHERS_BYTES, OTHERS_RATIO * total) and room >= (failure.requested_bytes or 0)


def _absurd(asked: int, total: int | None) -> tuple[str, str, tuple[str, ...]]:
    if total is None:
        because = say("One tensor of {asked} was asked for, more than any card has.", asked=memory(asked))
    else:
        because = say(
            "One tensor of {asked} was asked for, {times} times the card's {total}.",
            asked=memory(asked),
            times=round(asked / total),
            total=memory(total),
        )
    action = say("Look at the shapes of the named operation: a missing index or a broadcast makes such sizes.")
    return because, action, ("CUDA_VISIBLE_DEVICES= python train.py   # the CPU names the line",)


def _larger_than_card(asked: int, total: int) -> tuple[str, str, tuple[str, ...]]:
    because = say(
        "One piece of {asked} was asked for, and the card has {total}.", asked=memory(asked), total=memory(total)
    )
    action = say("Divide the work: a smaller batch, shorter sequences, or a model split over cards or quantised.")
    return because, action, ("nvidia-smi --query-gpu=name,memory.total --format=csv",)


def _free_but_refused(failure: AllocationFailure) -> tuple[str, str, tuple[str, ...]]:
    asked, free = memory(failure.requested_bytes or 0), memory(failure.free_bytes or 0)
    if failure.limit_bytes is not None:
        because = say(
            "{asked} was asked for and {free} was free, but the process may take {limit} only.",
            asked=asked,
            free=free,
            limit=memory(failure.limit_bytes),
        )
        action = say("Raise the limit (set_per_process_memory_fraction), or make the batch smaller.")
        return because, action, ("nvidia-smi",)
    because = say("{asked} was asked for and refused although the card says {free} is free.", asked=asked, free=free)
    action = say("Look for another program that took it at that moment; on Windows enlarge the paging file.")
    return because, action, ("nvidia-smi -l 1",)


def _fragmented(failure: AllocationFailure) -> tuple[str, str, tuple[str, ...]]:
    because = say(
        "{asked} was asked for; PyTorch holds {cached} that no tensor uses, but in pieces too small: fragmentation.",
        asked=memory(failure.requested_bytes or 0),
        cached=memory(failure.cached_bytes or 0),
    )
    action = say("Let the allocator move its pieces (expandable segments), and keep shapes the same from step to step.")
    return because, action, ("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py",)


def _held_by_others(failure: AllocationFailure, others: int, total: int) -> tuple[str, str, tuple[str, ...]]:
    because = say(
        "{asked} was asked for, and {others} of the card's {total} ({share}) is in use outside of this process.",
        asked=memory(failure.requested_bytes or 0),
        others=memory(others),
        total=memory(total),
        share=percent(others / total),
    )
    action = say("End the other programs on this card, or use another card.")
    commands = ("nvidia-smi", "CUDA_VISIBLE_DEVICES=1 python train.py", "rigwise check --only vram_held")
    return because, action, commands


def _share_taken(failure: AllocationFailure) -> tuple[str, str, tuple[str, ...]]:
    """The engine takes a share of the whole card at its start, and less than that is free."""
    free, total, asked = failure.free_bytes or 0, failure.total_bytes or 0, failure.requested_bytes or 0
    because = say(
        "vLLM was to take {asked}, and {free} of {total} was free at its start.",
        asked=memory(asked),
        free=memory(free),
        total=memory(total),
    )
    action = say("End the other programs on this card, or let vLLM take a smaller share.")
    share = int(free / total * 100 - 2) / 100 if total else 0.5
    return because, action, ("nvidia-smi", f"vllm serve MODEL --gpu-memory-utilization {share}")


def _grew(failure: AllocationFailure) -> tuple[str, str, tuple[str, ...]]:
    because = say(
        "Only {asked} was asked for, after {steps} steps that fitted: memory grew, or this batch was a longer one.",
        asked=memory(failure.requested_bytes or 0),
        steps=failure.num_steps_before or 0,
    )
    action = say("Keep no tensors between steps (add loss.item(), not loss), and cap the length of a batch.")
    return because, action, ("python -c 'import torch; help(torch.cuda.memory._record_memory_history)'", "nvidia-smi")


def _too_big(failure: AllocationFailure) -> tuple[str, str, tuple[str, ...]]:
    asked = memory(failure.requested_bytes or 0)
    if failure.allocated_bytes is not None and failure.total_bytes:
        because = say(
            "{asked} more was asked for when this process's tensors filled {used} of the card's {total}.",
            asked=asked,
            used=memory(failure.allocated_bytes),
            total=memory(failure.total_bytes),
        )
    else:
        because = say("{program} asked for {asked}, which was not free.", program=failure.program, asked=asked)
    return because, *_smaller(failure.program)


def _smaller(program: str) -> tuple[str, tuple[str, ...]]:
    match program:
        case "llama.cpp":
            action = say("Put fewer layers on the GPU, shorten the context, or take a smaller quantisation.")
            return action, ("llama-server -m MODEL.gguf -ngl 20 -c 4096", "nvidia-smi")
        case "JAX":
            action = say("Make the batch smaller; JAX takes 75 % of the card at its start, which hides who needs it.")
            return action, ("XLA_PYTHON_CLIENT_PREALLOCATE=false python train.py", "nvidia-smi")
        case "TensorFlow":
            action = say("Make the batch smaller first; then let TensorFlow take VRAM only as it needs it.")
            return action, ("TF_FORCE_GPU_ALLOW_GROWTH=true python train.py", "nvidia-smi")
        case "vLLM":
            action = say("Use a smaller or quantised model, a shorter context, fewer sequences, or more GPUs.")
            command = "vllm serve MODEL --gpu-memory-utilization 0.85 --max-model-len 8192 --max-num-seqs 16"
            return action, (command, "nvidia-smi")
        case "SGLang":
            action = say("Let the memory pool take a smaller share, or use a quantised model or more GPUs.")
            return action, ("python -m sglang.launch_server --model-path MODEL --mem-fraction-static 0.8", "nvidia-smi")
        case "text-generation-inference":
            action = say("Share the model over more GPUs (--num-shard), quantise it, or lower the token limits.")
            return action, ("text-generation-launcher --model-id MODEL --num-shard 2", "nvidia-smi")
        case "ComfyUI":
            action = say("Use a smaller picture or a quantised model, or let ComfyUI move parts to RAM.")
            return action, ("python main.py --lowvram", "nvidia-smi")
        case _:
            action = say("Halve the batch first and accumulate gradients; then mixed precision and checkpointing.")
            return action, ("nvidia-smi", "rigwise smoke")
