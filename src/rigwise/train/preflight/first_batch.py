"""The first batch of any loader within a time limit, or where the loader hangs: nothing waits forever."""

import sys
import threading
import traceback
from collections.abc import Iterable
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from torch import multiprocessing

from rigwise.errors import CannotTell
from rigwise.speech import say
from rigwise.train.preflight.limits import Limits
from rigwise.train.preflight.preflight import Concern, LoaderPlan, preflight
from rigwise.units import duration

FRAMES_SHOWN = 3
STOP_SECONDS = 5.0
"""How long a worker may take to end after SIGTERM before it is killed."""


def first_batch(loader: Iterable[Any], timeout_seconds: float, limits: Limits | None = None) -> Any:
    """The first batch of the loader.

    Args:
        loader: a `DataLoader`, or anything that gives batches.
        timeout_seconds: how long it may take.
        limits: as `preflight` takes them, to name the reason.

    Raises:
        CannotTell: there was none in time; it says where the loader hangs and what may be the reason. The worker
            processes that it started have been ended.
        BaseException: whatever the loader raised.
    """
    plan = _plan(loader)
    concerns = preflight(plan, limits)
    before = set(multiprocessing.active_children())
    answers: Queue[tuple[Any, BaseException | None]] = Queue()
    waiting = threading.Thread(target=_ask, args=(loader, answers), daemon=True, name="rigwise-first-batch")
    waiting.start()
    try:
        batch, error = answers.get(timeout=timeout_seconds)
    except Empty:
        workers = [child for child in multiprocessing.active_children() if child not in before]
        where = _where(waiting, workers)
        _end(workers)
        raise _hangs(plan, timeout_seconds, where, concerns) from None
    if error is not None:
        raise error
    return batch


def _ask(loader: Iterable[Any], answers: "Queue[tuple[Any, BaseException | None]]") -> None:
    try:
        answers.put((next(iter(loader)), None))
    except BaseException as error:  # handed to the thread that waits, whatever it is
        answers.put((None, error))


def _plan(loader: Iterable[Any]) -> LoaderPlan:
    """What the loader says of itself; torch's names."""
    context = getattr(loader, "multiprocessing_context", None) or multiprocessing
    default, *_ = multiprocessing.get_all_start_methods()
    return LoaderPlan(
        num_workers=getattr(loader, "num_workers", 0),
        batches_ahead=getattr(loader, "prefetch_factor", None) or 2,
        start_method=context.get_start_method(allow_none=True) or default,  # asking for it alone would fix it
    )


def _where(waiting: threading.Thread, workers: list[Any]) -> str:
    """The innermost frames of the waiting thread, and what each worker process is doing."""
    frame = sys._current_frames().get(waiting.ident or 0)
    calls = traceback.extract_stack(frame)[-FRAMES_SHOWN:] if frame else []
    places = [f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in calls]
    states = [say("worker {pid}: {state}", pid=worker.pid, state=_state(worker.pid)) for worker in workers]
    return "; ".join([" > ".join(places), *states])


def _state(pid: int) -> str:
    """A process's state as the kernel names it: `S (sleeping)`."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return say("ended")
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("State:")), say("unknown"))


def _end(workers: list[Any]) -> None:
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(STOP_SECONDS)
        if worker.is_alive():
            worker.kill()


def _hangs(plan: LoaderPlan, seconds: float, where: str, concerns: tuple[Concern, ...]) -> CannotTell:
    reasons = "; ".join(concern.because for concern in concerns)
    steps = [concern.next_step for concern in concerns]
    if plan.num_workers:
        steps.append(say("run once with num_workers=0, which shows where the data set hangs"))
    return CannotTell(
        say("the loader gave no batch within {time}", time=duration(seconds)),
        "; ".join(part for part in (say("it hangs in {where}", where=where), reasons) if part),
        steps[0] if steps else say("look at the last function named above"),
    )
