"""Why a job of several ranks ended: the first cause, before the errors that the other ranks died of afterwards."""

import signal
import socket
import traceback
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from rigwise.errors import ExitCode, RigwiseError
from rigwise.speech import say

Kind = Literal["raised", "out_of_memory", "stopped", "hung", "ended"]
"""`stopped`: the trial itself gave up, for its loss or because no smaller batch would help."""

FOLLOW_ON = (
    "connection closed by peer",
    "connection reset by peer",
    "connection refused",
    "broken pipe",
    "gloo/transport",
    "nccl communicator was aborted",
    "ncclremoteerror",
    "remote process exited",
    "a process exiting prematurely",
    "recvvalue failed",
    "failed to recv",
    "socket timeout",
    "wait timeout",
    "timed out waiting",
    "watchdog caught collective",
)
"""What a rank raises because another one is gone: words of gloo's transport (gloo/transport/tcp/pair.cc), of NCCL
(`ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely`, nccl.h.in)
and of torch's TCPStore (csrc/distributed/c10d/socket.cpp)."""
LINES_TOLD = 12
"""Of a traceback or of what a rank printed; the last ones name the line that failed."""
FOLLOW_ON_SIGNALS = (signal.SIGTERM,)
"""What torchrun's agent ends the other ranks with."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A rank tells what ended it, or what another rank hangs in."""

    rank: int
    """Whose failure it is."""
    at: float
    """time.monotonic(), which the processes of a machine share."""
    kind: Kind
    text: str
    """The first line of what was raised, or where it hangs."""
    trace: str = ""
    """Its last lines."""
    micro_batch_size: int = 0
    """Samples at once when memory ran out; 0 where that is not known."""

    @property
    def follows_another(self) -> bool:
        """Whether it only says that another rank is gone."""
        words = self.text.lower()
        return self.kind == "raised" and any(each in words for each in FOLLOW_ON)


class Known(Exception):
    """A failure that has been told what kind it is."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.text)
        self.failed = failed


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """What ended a job."""

    rank: int
    kind: Kind
    text: str
    """In words, without the rank."""
    trace: str
    """Where it was, or the last it printed."""
    error: str = ""
    """What was raised, without the words around it."""
    micro_batch_size: int = 0
    exit_code: int | None = None
    """Of its process; negative: the signal."""


class RankEnded(RigwiseError):
    """A rank ended before its work was done, and the job with it."""

    exit_code = ExitCode.PROBLEM

    def __init__(self, what: str, why: str, next_step: str, cause: Cause | None) -> None:
        super().__init__(what, why, next_step)
        self.cause = cause


def failure_of(error: BaseException, rank: int, at: float, kind: Kind = "raised") -> Failed:
    """What a rank tells of what it raised."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return Failed(
        rank=rank,
        at=at,
        kind=kind,
        text=f"{type(error).__name__}: {error}".splitlines()[0],
        trace="\n".join(lines[-LINES_TOLD:]),
    )


def first_cause(told: Sequence[Failed], exit_codes: Mapping[int, int], printed: Mapping[int, str]) -> Cause | None:
    """What ended the job; None where nothing did.

    A rank that raised something of its own comes first, the earliest of them; then one that a signal ended, or that
    ended without a word; last the one that was the first to miss another.

    Args:
        told: what the ranks told of their failures.
        exit_codes: of the ranks that did not end well.
        printed: the last lines of each rank's output.
    """
    in_order = sorted(told, key=lambda failed: failed.at)
    own = next((failed for failed in in_order if not failed.follows_another), None)
    if own is not None:
        return _told(own, exit_codes)
    silent = {rank: code for rank, code in exit_codes.items() if rank not in {failed.rank for failed in told}}
    ended = {rank: code for rank, code in silent.items() if -code not in FOLLOW_ON_SIGNALS}
    if ended:
        rank, code = next(iter(ended.items()))
        return Cause(rank=rank, kind="ended", text=_ended(code), trace=printed.get(rank, ""), exit_code=code)
    if in_order:
        return _told(in_order[0], exit_codes)
    return next((_terminated(rank, code, printed) for rank, code in silent.items()), None)


def rank_words(cause: Cause, num_ranks: int, backend: str) -> str:
    """The cause in one sentence: which rank, where it ran, what became of it."""
    return say(
        "rank {rank} of {count} ({where} on {host}) {what}",
        rank=cause.rank,
        count=num_ranks,
        where=f"cuda:{cause.rank}" if backend == "nccl" else "cpu",
        host=socket.gethostname(),
        what=cause.text,
    )


def _told(failed: Failed, exit_codes: Mapping[int, int]) -> Cause:
    text = failed.text if failed.kind == "hung" else say("raised {error}", error=failed.text)
    return Cause(
        rank=failed.rank,
        kind=failed.kind,
        text=text,
        trace=failed.trace,
        error=failed.text,
        micro_batch_size=failed.micro_batch_size,
        exit_code=exit_codes.get(failed.rank),
    )


def _terminated(rank: int, code: int, printed: Mapping[int, str]) -> Cause:
    return Cause(rank=rank, kind="ended", text=_ended(code), trace=printed.get(rank, ""), exit_code=code)


def _ended(code: int) -> str:
    """How a process ended, in words.

    >>> _ended(3)
    'ended by itself with exit code 3'
    """
    if code >= 0:
        return say("ended by itself with exit code {code}", code=code)
    name = signal.Signals(-code).name
    if -code == signal.SIGKILL:
        return say("was killed ({name}): by someone's kill -9, or by the kernel for want of RAM", name=name)
    return say("was ended by a signal ({name})", name=name)
