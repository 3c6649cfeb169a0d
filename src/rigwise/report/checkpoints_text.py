"""Checkpoints and resumptions of a run, in sentences."""

from collections.abc import Iterator

from rigwise.records.run import RunRecord, TrialCheckpoints
from rigwise.speech import say
from rigwise.units import duration, memory


def resumption_lines(run: RunRecord) -> Iterator[tuple[str, str]]:
    """Label and sentence of what a reader must know: where the run went on, and what could not be saved."""
    yield from ((say("resumed"), resumption.text) for resumption in run.resumptions)
    yield from ((say("checkpoints"), _failed(cost)) for cost in run.checkpoints if cost.num_failed)


def cost_lines(run: RunRecord) -> Iterator[str]:
    """What the checkpoints of each trial took, one sentence a trial."""
    for cost in run.checkpoints:
        if cost.num_saved:
            yield say(
                "{trial}: {count} checkpoint(s) of {size}, {taken} in all, in no step's time",
                trial=cost.trial,
                count=cost.num_saved,
                size=memory(cost.size_bytes),
                taken=duration(cost.seconds),
            )


def _failed(cost: TrialCheckpoints) -> str:
    return say(
        "{count} of {all} of {trial} were not written; the last one that was is of step {step}",
        count=cost.num_failed,
        all=cost.num_failed + cost.num_saved,
        trial=cost.trial,
        step=cost.last_step,
    )
