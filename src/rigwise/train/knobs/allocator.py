"""How PyTorch's allocator takes VRAM; settled when CUDA starts, for the whole process.

Segments that grow fragment less where sizes vary from step to step.
https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf
"""

import os
from collections.abc import MutableMapping

import torch

from rigwise.speech import say
from rigwise.train.knobs.section import KnobsSection

VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
"""The name since PyTorch 2.9, which is read first, and the one before it, which every PyTorch reads."""
OPTION = "expandable_segments"


def settle_allocator(knobs: KnobsSection) -> str:
    """What holds for this process, in words; "" where the recipe asks for nothing."""
    return grow_segments(cuda_has_started=torch.cuda.is_initialized()) if knobs.expandable_segments else ""


def grow_segments(environment: MutableMapping[str, str] = os.environ, *, cuda_has_started: bool) -> str:
    """Ask for growing segments, unless the user settled it; what holds now, in words.

    Args:
        environment: that of this process, where PyTorch looks when CUDA starts; children inherit it.
        cuda_has_started: whether it is too late.
    """
    for variable in VARIABLES:
        settled = environment.get(variable, "")
        if OPTION in settled:
            return say("{variable}={value} holds, as it was set", variable=variable, value=settled)
    if cuda_has_started:
        return say(
            "expandable_segments came too late: CUDA had started; set it before: export {variable}={option}:True",
            variable=VARIABLES[1],
            option=OPTION,
        )
    variable = next((one for one in VARIABLES if environment.get(one)), VARIABLES[1])
    value = ",".join(filter(None, (environment.get(variable, ""), f"{OPTION}:True")))
    environment[variable] = value
    return say("{variable}={value}, set before CUDA started", variable=variable, value=value)
