"""Calls that may hang (a stuck driver, a dead network file system), given a time limit."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def within(limit_seconds: float, call: Callable[[], T]) -> T:
    """What `call` returns, or raises.

    A hung call cannot be stopped from outside: its thread is left behind, and does not keep the process alive.

    Raises:
        TimeoutError: `call` took longer than the limit.
    """
    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as failure:
            outcome.set_exception(failure)

    threading.Thread(target=work, name="rigwise-question", daemon=True).start()
    return outcome.result(limit_seconds)
