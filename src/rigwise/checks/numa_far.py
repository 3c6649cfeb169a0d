"""A process runs on CPUs far from its GPU.

What: the process that computes on a GPU, or this shell, may only use CPUs of another NUMA node.
Why: every copy to or from the GPU crosses the connection between the sockets: less bandwidth, more latency.
How to tell: the CPUs next to the GPU against those that the process may use. A process that may use all CPUs is left
alone: the scheduler can bring it near.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning for a process that computes there, a note for this shell."""
    near = _near(gpu, rig)
    cpus = near.need()
    for process in gpu.processes.value or ():
        allowed = rig.cpu.process_cpus.get(process.pid)
        if allowed is not None and allowed.value and not allowed.value & cpus:
            yield _problem(near, allowed, process.pid)
            return
    if not rig.cpu.allowed.need() & cpus:
        yield _problem(near, rig.cpu.allowed, None)


def _near(gpu: Gpu, rig: Rig) -> Reading[frozenset[int]]:
    return rig.cpu.next_to_gpu.get(gpu.index) or Reading(
        "CPUs next to the GPU", None, gpu.pci_bus_id.status, gpu.pci_bus_id.quote
    )


def _problem(near: Reading[frozenset[int]], allowed: Reading[frozenset[int]], pid: int | None) -> Problem:
    there, here = ranges(near.need()), ranges(allowed.need())
    readings = (near, allowed)
    if pid is None:
        because = say("This shell may use CPUs {here}; next to the GPU are {there}.", here=here, there=there)
        return Problem(because, readings, (f"taskset -c {there} python train.py",), severity=Severity.NOTE)
    because = say("PID {pid} may use CPUs {here}; next to the GPU are {there}.", pid=pid, here=here, there=there)
    return Problem(because, readings, (f"taskset -a -c -p {there} {pid}",))


def ranges(cpus: frozenset[int]) -> str:
    """CPUs as taskset, numactl and systemd's CPUAffinity take them.

    >>> ranges(frozenset({0, 1, 2, 8}))
    '0-2,8'
    """
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
