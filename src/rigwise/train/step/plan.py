"""What one trial does, and how its learning rate goes: everything here comes from the recipe."""

import math

import msgspec

from rigwise.train.knobs.section import KnobsSection

SMALLEST_BATCH = 2
"""BatchNorm has no variance to take over a single picture."""


class TrialPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One trial."""

    name: str
    precision: str
    """`fp32`, `bf16` or `fp16`."""
    batch_size: int
    image_size: int
    """Pixels; 0 where the samples are no pictures."""
    steps: int
    learning_rate: float
    weight_decay: float
    warmup_steps: int
    seed: int
    knobs: KnobsSection = KnobsSection()

    @property
    def validation_steps(self) -> frozenset[int]:
        """The steps (1-based) that validation follows."""
        number = self.knobs.validations
        return frozenset(math.ceil(self.steps * part / number) for part in range(1, number + 1))


def learning_rate_share(step: int, plan: TrialPlan) -> float:
    """Share of the peak learning rate at `step` (0-based): linear rise, then half a cosine to zero.

    Loshchilov and Hutter, SGDR, arXiv:1608.03983, equation 5, one cycle.
    """
    warmup = min(plan.warmup_steps, plan.steps // 2)
    if step < warmup:
        return (step + 1) / warmup
    progress = (step - warmup) / max(1, plan.steps - warmup)
    return 0.5 * (1 + math.cos(math.pi * progress))
