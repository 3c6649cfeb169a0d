"""Before several ranks train: what the check found that concerns them, and whether they can talk to each other."""

from collections.abc import Iterator, Sequence

from rigwise.records.finding import CheckReport, Verdict
from rigwise.records.gpu import GpuProcess
from rigwise.records.smoke import Link, SmokeReport
from rigwise.speech import say
from rigwise.telemetry.writer import RunWriter
from rigwise.train.all_reduce import prove_all_reduce
from rigwise.train.batch.others import Holders
from rigwise.train.progress import Progress
from rigwise.train.ranks.failure import RankEnded
from rigwise.train.ranks.setup import RanksSetup
from rigwise.units import duration, memory

OF_RANKS = (
    "gpus_unequal",
    "gpus_far_apart",
    "p2p_blocked",
    "nccl_environment",
    "shared_memory_small",
)
"""Checks whose problem several ranks meet: the slowest and smallest card sets the pace, NCCL falls back or fails."""


def ready_ranks(setup: RanksSetup, report: CheckReport, writer: RunWriter, progress: Progress) -> None:
    """Nothing, after a sum over all ranks came out right; concerns are told and recorded.

    Raises:
        RankEnded: they cannot reach each other.
    """
    for concern in concerns(report):
        progress.tell(concern)
        writer.event("ranks", concern)
    progress.begin(say("a sum over all ranks"), None)
    try:
        proof = prove_all_reduce(setup.num_ranks, backend=setup.backend)
    finally:
        progress.end()
    if not proof.works:
        what = say("the {count} ranks cannot train together", count=setup.num_ranks)
        raise RankEnded(what, proof.cause, proof.next_step or say("rigwise check"), None)


def smoke_ranks(setup: RanksSetup) -> SmokeReport:
    """The same for `rigwise smoke`."""
    proof = prove_all_reduce(setup.num_ranks, backend=setup.backend)
    name = say("all-reduce of {count} ranks ({backend})", count=setup.num_ranks, backend=setup.backend)
    text = say("the sum is right after {time}, with the start of the processes", time=duration(proof.seconds))
    link = Link(name=name, ok=proof.works, text=text if proof.works else proof.cause)
    train = say("rigwise train DATA")
    next_step = f"{train} --ranks {setup.num_ranks}" if proof.works else proof.next_step or say("rigwise check")
    proved = say("{count} ranks reach each other", count=setup.num_ranks)
    return SmokeReport(links=(link,), next_step=next_step, proved=proved)


def concerns(report: CheckReport) -> Iterator[str]:
    """What the check found that several ranks will meet, in its words."""
    for finding in report.findings:
        if finding.check in OF_RANKS and finding.verdict is Verdict.PROBLEM:
            yield say("for several ranks: {because}", because=finding.because)


def held_before(uuids: Sequence[str], holders: Holders, own: Sequence[int]) -> Iterator[str]:
    """Who holds memory of the GPUs before a trial, one sentence for each GPU that is not free.

    Args:
        uuids: of the GPUs, in the order of their ranks.
        holders: the processes that hold a GPU's memory.
        own: PIDs that are meant to.
    """
    for number, uuid in enumerate(uuids):
        others = [process for process in holders(uuid) if process.pid not in own]
        if others:
            named = ", ".join(map(_named, others))
            yield say("memory of cuda:{number} is held before the trial: {named}", number=number, named=named)


def _named(process: GpuProcess) -> str:
    name = process.name or say("process of another user")
    if process.used_bytes is None:
        return say("{name} (PID {pid})", name=name, pid=process.pid)
    return say("{name} (PID {pid}, {used})", name=name, pid=process.pid, used=memory(process.used_bytes))
