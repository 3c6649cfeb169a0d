"""A few CPUs do all the work while the others idle.

What: one or a few CPUs are busy all the time, most others have next to nothing to do, and the GPUs wait.
Why: work in a single thread (a loader without workers, a tokenizer, Python code between the kernels) sets the pace;
neither a faster disk nor a faster GPU helps.
How to tell: the busiest CPUs against all others over one window. The mean of all CPUs hides it. With a busy GPU, or
one that nobody computes on, it is nobody's problem.
"""

from collections.abc import Iterator

from rigwise.records.demand import gpus_may_wait
from rigwise.records.finding import Problem, Severity
from rigwise.records.host import CpuShare
from rigwise.records.reading import those_present
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent, significant

PINNED_RATIO = 0.95
"""Our choice: a thread that never waits shows 97 to 100 %, less the ticks that its window misses."""
OTHERS_RATIO = 0.25
"""Our choice: above it the work is spread over the machine."""
MIN_CPUS = 4
"""With fewer, one busy CPU is an ordinary share of the machine."""
FEW_RATIO = 0.25
SURE_SECONDS = 1.0
"""Our choice: in a shorter window any program that starts looks like this."""
PROCESS_CPUS = 0.9


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning, or a note where the window was short."""
    cpus = rig.cpu.each.need()
    pinned = [cpu for cpu in cpus if cpu.busy_ratio >= PINNED_RATIO]
    others = [cpu.busy_ratio for cpu in cpus if cpu.busy_ratio < PINNED_RATIO]
    if len(cpus) < MIN_CPUS or not pinned or len(pinned) > FEW_RATIO * len(cpus):
        return
    if sum(others) / len(others) > OTHERS_RATIO or not gpus_may_wait(rig):
        return
    because = say(
        "{few} of {all} CPUs ({names}) are busy all the time, the others {share} on average{process}.",
        few=len(pinned),
        all=len(cpus),
        names=_names(pinned),
        share=percent(sum(others) / len(others)),
        process=_process(rig),
    )
    short = rig.cpu.window_seconds is not None and rig.cpu.window_seconds < SURE_SECONDS
    readings = those_present(rig.cpu.each, rig.cpu.processes)
    yield Problem(because, readings, severity=Severity.NOTE if short else None)


def _names(pinned: list[CpuShare]) -> str:
    names = [cpu.name for cpu in pinned[:4]]
    return ", ".join(names) + (" ..." if len(pinned) > len(names) else "")


def _process(rig: Rig) -> str:
    """The process that computes most, where it is known and takes a whole CPU."""
    busiest = (rig.cpu.processes.value or ())[:1]
    if not busiest or busiest[0].cpus < PROCESS_CPUS:
        return ""
    name, pid, cpus = busiest[0].name, busiest[0].pid, significant(busiest[0].cpus)
    return say("; {name} (PID {pid}) computes on {cpus}", name=name, pid=pid, cpus=cpus)
