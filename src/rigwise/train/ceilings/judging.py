"""The bound of a loop, and the contradictions that show a measurement to be wrong. Pure.

A loop cannot be faster than one of its own stages, its parts cannot exceed its wall, and no device does more than its
peak. Where one of these is seen, the fault is in the measurement (work left out by an asynchronous clock, batches
unlike each other, a wrong peak), and nothing is concluded from it.
"""

from collections.abc import Iterator, Sequence

from rigwise.records.ceilings import Bound, Ceiling, Part, Rate, part_words, stage_words
from rigwise.speech import say
from rigwise.train.ceilings.gap import LAUNCH_BOUND_RATIO
from rigwise.train.ceilings.launch import LaunchCost
from rigwise.train.ceilings.parts import UNEXPLAINED
from rigwise.units import duration, percent, share, significant

NOISE_RATIO = 0.05
"""Our choice: what two passes over the same work differ by on a quiet machine, beside their intervals."""
TOLD_RATIO = 0.05
"""Our choice: parts below this share of a step are left out of the sentence."""
WORTH_TELLING_TENFOLD = 10.0
"""Our choice: a ceiling this much higher than the lowest says nothing more."""

BOUND_OF = {"loader": Bound.LOADER, "transfer": Bound.TRANSFER, "compute": Bound.COMPUTE}
"""The ceilings the loop itself meets; transfers from other kinds of memory are shown beside them."""


def ordered_ceilings(ceilings: Sequence[Ceiling]) -> list[tuple[str, Rate]]:
    """Name and rate of the ceilings the loop itself meets, lowest first."""
    met = [(one.name, one.rate) for one in ceilings if one.name in BOUND_OF and one.rate is not None]
    return sorted(met, key=lambda one: one[1].median)


def bound_of(ceilings: Sequence[Ceiling], launch: LaunchCost | None) -> Bound:
    """The stage with the lowest ceiling; balanced where the next one cannot be told from it."""
    (name, lowest), *others = ordered_ceilings(ceilings)
    if others and not apart(lowest, others[0][1]):
        return Bound.BALANCED
    if name == "compute" and launch is not None and _submitting_leads(lowest, launch):
        return Bound.HOST_LAUNCH
    return BOUND_OF[name]


def apart(lower: Rate, higher: Rate) -> bool:
    """Whether two rates differ by more than their intervals and the noise between passes."""
    return higher.low > lower.high and higher.median > lower.median * (1 + NOISE_RATIO)


def _submitting_leads(compute: Rate, launch: LaunchCost) -> bool:
    computing = launch.busy_seconds
    return launch.host_seconds >= LAUNCH_BOUND_RATIO * compute.step_seconds and (
        computing is None or computing < launch.host_seconds
    )


def contradictions(
    ceilings: Sequence[Ceiling], actual: Rate, parts: Sequence[Part], wall_seconds: float, mfu_ratio: float | None
) -> Iterator[str]:
    """Everything in the measurement that cannot be, in words."""
    for name, rate in ordered_ceilings(ceilings):
        if apart(rate, actual):
            yield say(
                "the loop reached {actual} samples/s, more than the {ceiling} of its own {stage} alone",
                actual=significant(actual.median),
                ceiling=significant(rate.median),
                stage=stage_words(name),
            )
    found = sum(part.seconds for part in parts if part.name != UNEXPLAINED)
    if found > wall_seconds * (1 + NOISE_RATIO):
        yield say(
            "the parts of a step add up to {sum}, more than the {wall} it took",
            sum=duration(found),
            wall=duration(wall_seconds),
        )
    if mfu_ratio is not None and mfu_ratio > 1:
        yield say(
            "MFU comes out at {mfu}, more than the device can do: the FLOPs of a sample or the peak are wrong, or work "
            "was left out of the time",
            mfu=percent(mfu_ratio),
        )


def verdict(bound: Bound, ceilings: Sequence[Ceiling], actual: Rate, parts: Sequence[Part]) -> str:
    """One sentence: the bound with its rates, what else could be reached, where the step goes."""
    (name, lowest), *others = ordered_ceilings(ceilings)
    sentences = [_bound_words(bound, name, others, _reached(actual, lowest))]
    if bound is not Bound.BALANCED and others and others[0][1].median < WORTH_TELLING_TENFOLD * lowest.median:
        other, rate = others[0]
        sentences.append(say("{stage} alone could do {rate}", stage=stage_words(other), rate=significant(rate.median)))
    sentences.append(where_it_goes(actual, parts))
    return "; ".join(filter(None, sentences))


def _reached(actual: Rate, ceiling: Rate) -> str:
    """What the loop reaches of its lowest ceiling; where it reaches it, no "at most": the rest is noise."""
    rates = {"actual": significant(actual.median), "ceiling": significant(ceiling.median)}
    if actual.median >= ceiling.median:
        return say("{actual} samples/s, all it can do", **rates)
    return say("{actual} of at most {ceiling} samples/s", **rates)


def _bound_words(bound: Bound, lowest: str, others: Sequence[tuple[str, Rate]], reached: str) -> str:
    if bound is Bound.BALANCED:
        pair = (stage_words(lowest), stage_words(others[0][0]))
        return say("balanced between {first} and {second} ({reached})", first=pair[0], second=pair[1], reached=reached)
    stage = say("the host's launching of work") if bound is Bound.HOST_LAUNCH else stage_words(lowest)
    return say("bound by {stage} ({reached})", stage=stage, reached=reached)


def where_it_goes(actual: Rate, parts: Sequence[Part]) -> str:
    """The parts of a step that are worth a word."""
    told = [
        say("{part} {share}", part=part_words(part.name), share=share(part.share_ratio))
        for part in parts
        if abs(part.share_ratio) >= TOLD_RATIO
    ]
    step = duration(actual.step_seconds)
    return say("a step of {step}: {parts}", step=step, parts=", ".join(told)) if told else ""
