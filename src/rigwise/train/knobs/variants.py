"""Which knobs are compared with what: those of the recipe, or every one that applies. No torch here."""

from collections.abc import Iterator
from typing import Any

import msgspec

from rigwise.speech import say
from rigwise.train.knobs.section import KnobsSection


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One knob of a trial, off and on, everything else as in the recipe."""

    name: str
    off: KnobsSection
    on: KnobsSection
    in_recipe: bool
    same_training: bool
    """Whether losses and gradients should be what they are without it, but for rounding."""
    why_not: str = ""
    """Why it cannot be compared here."""


TRIED: tuple[tuple[str, Any, bool], ...] = (
    ("optimizer", "adamw_fused", True),
    ("optimizer", "adamw8bit", False),
    ("optimizer", "adafactor", False),
    ("optimizer", "sgd", False),
    ("optimizer_in_backward", True, True),
    ("checkpointing", True, True),
    ("accumulation_steps", 2, True),
    ("freeze_backbone", True, False),
    ("channels_last", True, True),
    ("compile", True, True),
    ("ema_decay", 0.999, False),
    ("label_smoothing", 0.1, False),
    ("clip_norm", 1.0, False),
)
"""Knob, the value it is tried with where the recipe has none, and whether the training should stay the same.

The values are those of the papers and recipes: 0.999 in torchvision's and timm's, 0.1 in arXiv:1512.00567, 1.0 in
most of transformers'."""


def variants(knobs: KnobsSection, *, precision: str, every: bool, on_gpu: bool) -> Iterator[Variant]:
    """The knobs the recipe switches on; with `every`, the others too.

    Args:
        knobs: of the recipe.
        precision: of the trial they are compared on.
        every: whether knobs the recipe leaves off are tried as well.
        on_gpu: where the trial runs.
    """
    default = KnobsSection()
    for field, value, same in TRIED:
        has = getattr(knobs, field)
        in_recipe = has == value if field == "optimizer" else has != getattr(default, field)
        if in_recipe or every:
            chosen = has if in_recipe else value
            yield _variant(knobs, field, chosen, precision, in_recipe=in_recipe, same=same, on_gpu=on_gpu)
    yield from _not_compared(knobs, every=every)


def _variant(
    knobs: KnobsSection, field: str, value: Any, precision: str, *, in_recipe: bool, same: bool, on_gpu: bool
) -> Variant:
    off = msgspec.structs.replace(knobs, **{field: getattr(KnobsSection(), field)})
    on = msgspec.structs.replace(knobs, **{field: value})
    as_trial = msgspec.structs.replace(on, precision=precision)
    why_not = "; ".join(as_trial.faults())
    if field == "compile" and not on_gpu and not in_recipe:
        why_not = say("only on a GPU: on the CPU compiling takes a minute or more")
    name = field if value is True else f"{field} = {value}"
    return Variant(name=name, off=off, on=on, in_recipe=in_recipe, same_training=same, why_not=why_not)


def _not_compared(knobs: KnobsSection, *, every: bool) -> Iterator[Variant]:
    """Knobs that no comparison within one process, or no step, can show."""
    told = (
        ("expandable_segments", knobs.expandable_segments, say("it holds for a whole process: compare two runs")),
        ("precision", knobs.precision != "auto", say("the trials compare it")),
        ("patience", knobs.patience > 0, say("it costs nothing in a step; the trial's row says what it saved")),
    )
    for name, in_recipe, why_not in told:
        if in_recipe or every:
            yield Variant(name=name, off=knobs, on=knobs, in_recipe=in_recipe, same_training=True, why_not=why_not)
