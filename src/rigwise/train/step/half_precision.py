"""Which 16-bit type a GPU trains in, by its compute capability and name. No torch."""

import re

from rigwise.speech import say

BF16_CAPABILITY = (8, 0)
"""Older cards only emulate it: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions"""
TU11X_CAPABILITY = (7, 5)
TU11X = re.compile(r"\b(?:GTX 16[356]0|T(?:400|500|550|600|1000|1200|2000)|MX ?(?:450|550))\b", re.IGNORECASE)
"""Cards with a TU116 or TU117: Turing without tensor cores. fp16 convolutions give NaN there since cuDNN 8, and short
checks miss it: below a batch of 8 they pass (https://github.com/pytorch/pytorch/issues/58123,
https://github.com/pytorch/pytorch/issues/77955, https://github.com/ultralytics/ultralytics/pull/17977)."""


def half_precision(name: str, capability: tuple[int, int]) -> str:
    """`bf16` where the hardware has it, else `fp16`; `fp32` where fp16 cannot be relied on.

    >>> half_precision("NVIDIA A10", (8, 6)), half_precision("Tesla T4", (7, 5))
    ('bf16', 'fp16')
    >>> half_precision("NVIDIA GeForce GTX 1660 Ti", (7, 5)), half_precision("Quadro T1000 with Max-Q Design", (7, 5))
    ('fp32', 'fp32')
    """
    if capability >= BF16_CAPABILITY:
        return "bf16"
    return "fp32" if why_not_half(name, capability) else "fp16"


def why_not_half(name: str, capability: tuple[int, int]) -> str:
    """Why fp16 cannot be relied on; "" where it can."""
    if capability != TU11X_CAPABILITY or not TU11X.search(name):
        return ""
    return say(
        "{name} has no tensor cores, and fp16 convolutions give NaN on its chip (TU116, TU117); fp32 is used", name=name
    )
