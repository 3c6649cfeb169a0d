"""Every rank of a job watches the others, so that one that hangs ends the job within 30 s, with its stack.

A thread in each rank tells the job's store twice a second where the rank is, and reads where the others are. The
store is that of torchrun's agent, which outlives any rank.
"""

import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta

import msgspec
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # as its documentation has it

from rigwise.speech import say
from rigwise.train.ranks.failure import LINES_TOLD, Failed
from rigwise.train.ranks.watch import HUNG_SECONDS, Beat, Hang, Watch

BEAT_SECONDS = 0.5
STORE_SECONDS = 10.0
"""Our choice: what the store may take to answer, on one machine."""
TELL_ITSELF_SECONDS = 2.0
"""Our choice: how long the others wait for a hung rank to tell its stack, before they end in its stead."""
WAITING = ("torch/distributed/", "torch/autograd/graph.py", "torch/cuda/streams.py")
"""Files of torch in which a rank waits: for a collective, in the backward pass that ends with one, or for its GPU."""
HUNG_EXIT_CODE = 124
"""That of a rank that ended because one hangs; timeout(1) of coreutils ends with it too."""

Report = Callable[[Failed], object]


class Guard:
    """Where this rank is, for the others to see. Made by `guard_ranks`."""

    def __init__(self, rank: int, num_ranks: int, store: TCPStore, report: Report, limit_seconds: float) -> None:
        self._rank = rank
        self._num_ranks = num_ranks
        self._store = store
        self._report = report
        self._watch = Watch(num_ranks, limit_seconds)
        self._beat = Beat(0, 0, say("it has begun"), 0.0, os.getpid(), socket.gethostname())
        self._marked = time.monotonic()
        self._main_thread = threading.main_thread().ident
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rigwise-ranks", daemon=True)

    def mark(self, place: str) -> None:
        """This rank has come to a place that every rank comes to; where it hangs from now on, it hangs there."""
        now = time.monotonic()
        last_seconds, self._marked = now - self._marked, now
        beat = self._beat
        self._beat = msgspec.structs.replace(beat, passed=beat.passed + 1, place=place, last_seconds=last_seconds)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While entered, this rank does what the others do not, such as saving, and may take minutes."""
        self._beat = msgspec.structs.replace(self._beat, alone=True)
        try:
            yield
        finally:
            self._beat = msgspec.structs.replace(self._beat, alone=False)

    def alive(self) -> None:
        """A sign of life between two places, in work that not every rank has the same amount of."""
        self._beat = msgspec.structs.replace(self._beat, signs=self._beat.signs + 1)

    def start(self) -> None:
        """Tell and watch from now on."""
        self._thread.start()

    def stop(self) -> None:
        """This rank leaves; the others no longer wait for it."""
        self._ending.set()
        self._thread.join(STORE_SECONDS)
        self._beat = msgspec.structs.replace(self._beat, ended=True)
        with suppress(RuntimeError):  # the store may be gone already
            self._tell()

    def _run(self) -> None:
        while not self._ending.wait(BEAT_SECONDS):
            try:
                self._tell()
                hang = self._watch.see(self._beats(), time.monotonic())
            except RuntimeError:  # the store is gone, and with it the job
                return
            if hang is not None and not self._ending.is_set():
                self._end(hang)

    def _tell(self) -> None:
        beat = msgspec.structs.replace(self._beat, waits=self._waits())
        self._store.set(_key(self._rank), msgspec.json.encode(beat).decode())

    def _waits(self) -> bool:
        """Whether the main thread is where ranks wait for each other."""
        frame = sys._current_frames().get(self._main_thread or 0)
        while frame is not None:
            if any(place in frame.f_code.co_filename for place in WAITING):
                return True
            frame = frame.f_back
        return False

    def _beats(self) -> dict[int, Beat]:
        """Rank -> its last beat, of those that have begun."""
        ranks = [rank for rank in range(self._num_ranks) if self._store.check([_key(rank)])]
        return {rank: msgspec.json.decode(self._store.get(_key(rank)), type=Beat) for rank in ranks}

    def _end(self, hang: Hang) -> None:
        """Report the rank that hangs, and end this one: torchrun's agent then ends the others."""
        if hang.rank != self._rank and not hang.all_stand:
            time.sleep(TELL_ITSELF_SECONDS)  # its own thread may still live, and knows the stack
        stack = self._stack() if hang.rank == self._rank or hang.all_stand else ""
        failed = Failed(rank=hang.rank, at=time.monotonic(), kind="hung", text=hang_words(hang), trace=stack)
        words = say("rank {rank} {what}", rank=hang.rank, what=failed.text)
        print(f"{words}\n{stack}", file=sys.stderr, flush=True)
        self._report(failed)
        if not stack:
            time.sleep(TELL_ITSELF_SECONDS)  # the leader asks it for its stack
        os._exit(HUNG_EXIT_CODE)

    def _stack(self) -> str:
        """Where the main thread is, the last calls last."""
        frame = sys._current_frames().get(self._main_thread or 0)
        lines = "".join(traceback.format_stack(frame)).splitlines() if frame else []
        return "\n".join(lines[-2 * LINES_TOLD :])


class NoGuard:
    """For a process on its own: nobody waits for it."""

    def mark(self, place: str) -> None:
        """Nobody asks where it is."""

    def alive(self) -> None:
        """Nor whether it lives."""

    def alone(self) -> AbstractContextManager[None]:
        """It always is."""
        return nullcontext()


@contextmanager
def guard_ranks(limit_seconds: float = HUNG_SECONDS) -> Iterator[Guard | NoGuard]:
    """Watches the ranks of a job that torchrun started; one that hangs ends the job, with its stack on standard error.

    Call `guard.mark("step 5")` at places that every rank comes to, once for each step at least. Enter it after
    `init_process_group`. A process that torchrun did not start is not watched.

    Args:
        limit_seconds: how much longer than the others a rank may take from one place to the next.
    """
    if "RANK" not in os.environ:
        yield NoGuard()
        return
    with watched(limit_seconds, lambda message: None) as guard:
        yield guard


@contextmanager
def watched(limit_seconds: float, report: Report) -> Iterator[Guard]:
    """This rank of a job that torchrun started, watching and watched."""
    rank, num_ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        is_master=False,
        timeout=timedelta(seconds=STORE_SECONDS),
    )
    guard = Guard(rank, num_ranks, store, report, limit_seconds)
    guard.start()
    try:
        yield guard
    finally:
        guard.stop()


def hang_words(hang: Hang) -> str:
    """What hangs where, as the end of a sentence about the rank."""
    seconds = f"{hang.seconds:.0f}"
    if hang.all_stand:
        return say("hangs at `{place}` for {seconds} s, as every rank does", place=hang.place, seconds=seconds)
    if not hang.place:
        return say("never arrived; others have waited for it for {seconds} s", seconds=seconds)
    return say("hangs at `{place}`; others have waited for it for {seconds} s", place=hang.place, seconds=seconds)


def _key(rank: int) -> str:
    return f"rigwise/beat/{rank}"
