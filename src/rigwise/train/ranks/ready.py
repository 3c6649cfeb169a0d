"""Before several ranks train: what the check found that concerns them, and whether they can talk to each other."""

from collections.abc import Iterator, Sequence

from rigwise.records.finding import CheckReport, Verdict
from rigwise.records.gpu import GpuProcess
from rigwise.speech import say
from rigwise.telemetry.writer import RunWriter
from rigwise.train.batch.probing import Holders
from rigwise.train.progress import Progress
from rigwise.train.ranks.proof import prove_ranks
from rigwise.train.ranks.setup import RanksSetup
from rigwise.units import memory

OF_RANKS = (
    "gpus_unequal",
    "gpus_far_apart",
    "p2p_blocked",
    "nccl_environment",
    "shared_memory_small",
)
"""Checks whose problem several ranks meet: the slowest and smallest card sets the pace, NCCL falls back or fails."""


def ready_ranks(setup: RanksSetup, report: CheckReport, writer: RunWriter, progress: Progress) -> RanksSetup:
    """The ranks to train with, after a sum over all of them came out right; concerns are told and recorded.

    Raises:
        RankEnded: they cannot talk to each other.
    """
    for concern in concerns(report):
        _note(concern, writer, progress)
    progress.begin(say("a sum over all ranks, in 60 s at most"), None)
    try:
        proof = prove_ranks(setup)
    finally:
        progress.end()
    for link in proof.links:
        writer.event("ranks", f"{link.name}: {link.text}")
    if proof.failure is not None:
        raise proof.failure
    if proof.setup != setup:
        without = " ".join(f"{name}={value}" for name, value in proof.setup.environment)
        _note(say("ranks reach each other only with {variables}; it is set", variables=without), writer, progress)
    return proof.setup


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


def _note(sentence: str, writer: RunWriter, progress: Progress) -> None:
    progress.tell(sentence)
    writer.event("ranks", sentence)
