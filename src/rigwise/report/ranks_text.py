"""What several ranks brought: their speed beside one rank in the same run, and which of them the others wait for."""

from collections.abc import Iterator, Sequence

import msgspec

from rigwise.records.run import RankFigures, RunRecord, TrialResult
from rigwise.speech import say
from rigwise.units import duration, percent, significant

SLOWER_RATIO = 1.1
"""Our choice: step times on a shared machine vary by a few percent; with a tenth more in the mean of five steps, others
wait for a rank."""


class RanksSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One trial by several ranks. None means not measured."""

    trial: str
    num_ranks: int
    batch_size: int
    """Of all ranks together."""
    rows: tuple[int, ...]
    """Of each rank."""
    samples_per_second: float
    """Of all ranks together."""
    samples_per_second_per_rank: float
    scaling_efficiency_ratio: float | None
    """Speed over that of one rank in the same run, at the same batch and precision, for each rank; 1 is ideal."""
    slowest_rank: int | None
    """The rank the others wait for, where one is clearly slower than the fastest."""
    alone_seconds: tuple[float, ...]
    """Mean step of each rank while it waits for no other."""


def ranks_summaries(run: RunRecord) -> tuple[RanksSummary, ...]:
    """Every trial by several ranks that ran to the end."""
    together = [trial for trial in run.trials if trial.num_ranks > 1 and samples_per_second(trial)]
    return tuple(_summary(trial, run) for trial in together)


def ranks_lines(run: RunRecord) -> Iterator[str]:
    """Each of them in words, at most two sentences."""
    for summary in ranks_summaries(run):
        yield _speed(summary)
        if summary.slowest_rank is not None:
            yield _waiting(summary)


def _summary(trial: TrialResult, run: RunRecord) -> RanksSummary:
    figures = sorted((each for each in run.ranks if each.trial == trial.name), key=lambda each: each.rank)
    speed = samples_per_second(trial)
    alone = _alone(trial, run.trials)
    return RanksSummary(
        trial=trial.name,
        num_ranks=trial.num_ranks,
        batch_size=trial.batch_size,
        rows=tuple(each.rows for each in figures),
        samples_per_second=speed,
        samples_per_second_per_rank=speed / trial.num_ranks,
        scaling_efficiency_ratio=speed / (trial.num_ranks * alone) if alone else None,
        slowest_rank=_slowest(figures),
        alone_seconds=tuple(each.alone_seconds for each in figures),
    )


def samples_per_second(trial: TrialResult) -> float:
    """Pictures, or sequences of tokens; 0 where the trial did not run to the end."""
    return trial.images_per_second or trial.samples_per_second or 0.0


def _alone(trial: TrialResult, trials: Sequence[TrialResult]) -> float | None:
    """Samples per second of one rank that did the same, with as many steps."""
    same = (
        samples_per_second(each)
        for each in trials
        if each.num_ranks == 1
        and (each.batch_size, each.precision, each.steps) == (trial.batch_size, trial.precision, trial.steps)
    )
    return next(filter(None, same), None)


def _slowest(figures: Sequence[RankFigures]) -> int | None:
    if not figures:
        return None
    slowest = max(figures, key=lambda each: each.alone_seconds)
    fastest = min(each.alone_seconds for each in figures)
    return slowest.rank if slowest.alone_seconds > SLOWER_RATIO * fastest else None


def _speed(summary: RanksSummary) -> str:
    facts = {
        "trial": summary.trial,
        "ranks": summary.num_ranks,
        "rows": _span(summary.rows),
        "speed": significant(summary.samples_per_second),
        "each": significant(summary.samples_per_second_per_rank),
    }
    if summary.scaling_efficiency_ratio is None:
        return say("{trial}: {ranks} ranks x {rows} samples, {speed} samples/s, {each} for each rank", **facts)
    return say(
        "{trial}: {ranks} ranks x {rows} samples, {speed} samples/s, {each} for each rank; scaling efficiency {share} "
        "beside one rank in this run",
        **facts,
        share=percent(summary.scaling_efficiency_ratio),
    )


def _waiting(summary: RanksSummary) -> str:
    slowest = summary.slowest_rank or 0
    fastest = min(range(summary.num_ranks), key=summary.alone_seconds.__getitem__)
    return say(
        "{trial}: the others wait for rank {slowest}: {long} for its rows alone, rank {fastest} takes {short}",
        trial=summary.trial,
        slowest=slowest,
        long=duration(summary.alone_seconds[slowest]),
        fastest=fastest,
        short=duration(summary.alone_seconds[fastest]),
    )


def _span(rows: Sequence[int]) -> str:
    """One number, or the smallest and the largest.

    >>> _span((5, 4)), _span((4, 4))
    ('4 to 5', '4')
    """
    low, high = min(rows, default=0), max(rows, default=0)
    return str(low) if low == high else say("{low} to {high}", low=low, high=high)
