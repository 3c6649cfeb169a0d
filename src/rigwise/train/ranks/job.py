"""Runs one piece of work in every rank of a fresh job, and says what came of it. For the leader; imports no torch."""

import os
import pickle
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

import rigwise
from rigwise.sources.process_tree import Tree, started_tree
from rigwise.speech import say
from rigwise.train.ranks.failure import LINES_TOLD, Cause, Failed, RankEnded, first_cause, rank_words
from rigwise.train.ranks.mail import LOGS, VERDICT_FILE, WORK_FILE, Inbox, Joined, RankWork, Returned, Verdict

LOOK_SECONDS = 0.05
LAST_SECONDS = 6.0
"""Our choice: what the agent may take to end a job after a rank told its failure; then all of it is killed."""
STACK_SECONDS = 0.5
"""Our choice: what a hung rank may take to print its stack."""
AGENT_OUTPUT = "agent.txt"
PRINTED_BYTES = 4000

Told = Callable[[Any], object]


class _Heard:
    """What the ranks of a job told of themselves."""

    def __init__(self) -> None:
        self.pids: dict[int, int] = {}
        self.failed: list[Failed] = []
        self.returned: Any = None
        self.failed_at: float | None = None

    @property
    def is_overdue(self) -> bool:
        """Whether a rank failed so long ago that the agent should have ended the job."""
        return self.failed_at is not None and time.monotonic() - self.failed_at > LAST_SECONDS


def run_ranks(
    work: RankWork,
    num_ranks: int,
    *,
    backend: str,
    told: Told = lambda message: None,
) -> Any:
    """What rank 0 returned. Whatever happens, no process and no file of the job is left.

    Args:
        work: what every rank does.
        num_ranks: how many; each with the GPU of its number where the backend is nccl.
        backend: `gloo` or `nccl`.
        told: takes what the ranks tell meanwhile.

    Raises:
        RankEnded: a rank ended badly or hung; its `cause` says which and why.
    """
    with tempfile.TemporaryDirectory(prefix="rigwise-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        (folder / WORK_FILE).write_bytes(pickle.dumps((sys.path, pickle.dumps(work))))
        heard, inbox = _Heard(), Inbox(folder, num_ranks)
        argv = [sys.executable, "-m", "rigwise.train.ranks.agent", place, str(num_ranks), str(os.getpid()), backend]
        variables = _environment()
        with started_tree(argv, variables, folder / AGENT_OUTPUT) as agent:
            _follow(agent, inbox, heard, told)
        _listen(inbox, heard, told)
        exit_codes = _exit_codes(folder)
        printed = {rank: _printed(folder, rank) for rank in range(num_ranks)}
        if heard.failed or exit_codes or heard.returned is None:
            raise _ended(heard, exit_codes, printed, folder, num_ranks, backend)
        return heard.returned.value


def _follow(agent: Tree, inbox: Inbox, heard: _Heard, told: Told) -> None:
    """Hand on what the ranks tell until the job has ended, or should have."""
    while not agent.ended and not heard.is_overdue:
        _listen(inbox, heard, told)
        time.sleep(LOOK_SECONDS)


def _listen(inbox: Inbox, heard: _Heard, told: Told) -> None:
    for rank, message in inbox.new():
        match message:
            case Joined(pid=pid):
                heard.pids[rank] = pid
            case Failed():
                heard.failed.append(message)
                heard.failed_at = heard.failed_at or time.monotonic()
                _ask_for_stack(message, heard)
            case Returned():
                heard.returned = message if rank == 0 else heard.returned
            case _:
                told(message)


def _ask_for_stack(failed: Failed, heard: _Heard) -> None:
    """Make a rank that hangs, and could not tell its stack itself, print it."""
    if failed.kind == "hung" and not failed.trace and failed.rank in heard.pids:
        with suppress(ProcessLookupError):
            os.kill(heard.pids[failed.rank], signal.SIGUSR1)
        time.sleep(STACK_SECONDS)


def _environment() -> dict[str, str]:
    """This process's variables for the ranks: without those of a torchrun around it, with the way to our package."""
    ours = str(Path(rigwise.__file__).parent.parent)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in TORCHRUN and not name.startswith("TORCHELASTIC")
    }
    paths = [ours, *filter(None, [kept.get("PYTHONPATH")])]
    return {"GLOO_SOCKET_IFNAME": "lo"} | kept | {"PYTHONPATH": os.pathsep.join(paths)}


TORCHRUN = {
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "ROLE_NAME",
    "MASTER_ADDR",
    "MASTER_PORT",
}
"""What torchrun sets for its ranks (https://docs.pytorch.org/docs/stable/elastic/run.html), beside TORCHELASTIC_*."""


def _exit_codes(folder: Path) -> dict[int, int]:
    try:
        content = (folder / VERDICT_FILE).read_bytes()
    except OSError:  # the agent was killed before it could tell
        return {}
    return msgspec.json.decode(content, type=Verdict).exit_codes


def _printed(folder: Path, rank: int) -> str:
    """The last lines of a rank, on either output."""
    files = sorted((folder / LOGS).glob(f"**/{rank}/std*.log"))
    content = b"".join(file.read_bytes()[-PRINTED_BYTES:] for file in files)
    return "\n".join(content.decode("utf-8", "replace").splitlines()[-LINES_TOLD:])


def _ended(
    heard: _Heard, exit_codes: Mapping[int, int], printed: Mapping[int, str], folder: Path, num_ranks: int, backend: str
) -> RankEnded:
    cause = first_cause(heard.failed, exit_codes, printed)
    if cause is None:
        agent = (folder / AGENT_OUTPUT).read_text(errors="replace").splitlines()
        what = say("torchrun's agent ended, and its {count} ranks with it", count=num_ranks)
        why = "\n".join(agent[-LINES_TOLD:]) or say("it printed nothing; someone's kill ends it like that")
        return RankEnded(what, why, say("rigwise check"), None)
    why = cause.trace or printed.get(cause.rank, "") or say("it printed nothing")
    return RankEnded(rank_words(cause, num_ranks, backend), why, _next_step(cause), cause)


def _next_step(cause: Cause) -> str:
    if cause.kind == "ended":
        return say("rigwise check   (the kernel log says whether it ended the rank for want of memory)")
    return say("correct what the last lines above name, then run the same command again")
