"""Where a step goes: the timeline cut into named parts, without a gap and without an overlap.

A loop names its own parts with `rigwise.part("logging")`; outside of a measurement that does nothing. The optimiser
names itself, through PyTorch's hooks for every optimiser.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from rigwise.train.ceilings.timeline import Mark, Timeline

DATA_WAIT, COPY, STEP, OPTIMISER = "data_wait", "copy", "step", "optimiser"
SYNCHRONISATION, LOGGING, CHECKPOINT = "synchronisation", "logging", "checkpoint"
HOST_LAUNCH, DEVICE_COMPUTE, UNEXPLAINED = "host_launch", "device_compute", "unexplained"


class Partition:
    """Cuts a timeline: at every moment exactly one part runs, the innermost one."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._running: list[str] = []
        self._last: Mark | None = None
        self._cuts: list[tuple[str, Mark, Mark]] = []

    def begin(self, name: str) -> None:
        """From here on `name` runs, until it ends or another begins inside it."""
        self._cut()
        self._running.append(name)

    def end(self) -> None:
        """What began last ends here."""
        self._cut()
        self._running.pop()

    def _cut(self) -> None:
        now = self._timeline.mark()
        if self._running and self._last is not None:
            self._cuts.append((self._running[-1], self._last, now))
        self._last = now

    def take(self) -> dict[str, float]:
        """Part -> seconds on the device's clock since the last call; waits for the device."""
        self._timeline.synchronize()
        seconds: dict[str, float] = defaultdict(float)
        for name, began, ended in self._cuts:
            seconds[name] += ended.seconds_since(began)
        self._cuts.clear()
        return dict(seconds)


_watching: ContextVar[Partition | None] = ContextVar("rigwise_parts", default=None)


@contextmanager
def part(name: str) -> Iterator[None]:
    """While inside, time of a measured step belongs to `name`: `logging`, `checkpoint`, or one of your own.

    Without a measurement under way it costs well under a microsecond of looking.
    """
    partition = _watching.get()
    if partition is None:
        yield
        return
    partition.begin(name)
    try:
        yield
    finally:
        partition.end()


@contextmanager
def watched(partition: Partition) -> Iterator[None]:
    """While inside, `part` and every optimiser of this thread cut `partition`."""
    token = _watching.set(partition)

    def begins(*_: object) -> None:
        if _watching.get() is partition:
            partition.begin(OPTIMISER)

    def ends(*_: object) -> None:
        if _watching.get() is partition:
            partition.end()

    hooks = (register_optimizer_step_pre_hook(begins), register_optimizer_step_post_hook(ends))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        _watching.reset(token)
