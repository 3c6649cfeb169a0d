"""Ctrl-C, `kill` and a closed terminal end a command alike: children stopped, records closed, exit code 130."""

import signal
import time
from types import FrameType

IMPATIENT_SECONDS = 3.0
"""A second Ctrl-C within this time is taken for the first: what that one ended is still being put in order, which
takes about one second (the step in work, then the page). Later ones count again, should that hang."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def raise_interruptions() -> None:
    """From now on these signals raise KeyboardInterrupt, unless they were ignored before, as nohup does."""
    raised_at = -IMPATIENT_SECONDS

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal raised_at
        now = time.monotonic()
        if now - raised_at >= IMPATIENT_SECONDS:
            raised_at = now
            raise KeyboardInterrupt

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


def ignore_interruptions() -> None:
    """From now on nothing is left to interrupt: Python takes a second to unload torch."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
