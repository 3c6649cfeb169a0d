"""NUMA nodes, from /sys, `lscpu` in any language, or `numactl --hardware`."""

import re

from rigwise.probes.answers import line_with
from rigwise.records.topology import NumaNode

NODE_FOLDER = re.compile(r"node(\d+)")
NUMACTL_LINE = re.compile(r"node (\d+) cpus:([\d ]*)$")
RANGES = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")


def parse_numactl(text: str) -> tuple[NumaNode, ...]:
    r"""The nodes of `numactl --hardware`.

    Raises:
        LookupError: it names none.

    >>> parse_numactl("available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3 8 9\nnode 0 size: 64 MB\nnode 1 cpus: 4 5")
    (NumaNode(node=0, cpus='0-3,8-9'), NumaNode(node=1, cpus='4-5'))
    """
    lines = (NUMACTL_LINE.match(line.strip()) for line in text.splitlines())
    return _nodes({int(line[1]): as_ranges([int(cpu) for cpu in line[2].split()]) for line in lines if line})


def count_cpus(text: str) -> int:
    r"""How many CPUs `lscpu` counts.

    >>> count_cpus("Architecture: x86_64\nCPU(s):                64\nOn-line CPU(s) list:   0-63\n")
    64
    """
    return int(line_with(text, "CPU(s):").split()[1])


def parse_lscpu(text: str) -> tuple[NumaNode, ...]:
    r"""The nodes of `lscpu`; the word NUMA, the node's number and the CPUs are the same in every language.

    Raises:
        LookupError: it names none.

    >>> parse_lscpu("NUMA node(s):  2\nNUMA node0 CPU(s):   0-7\nNUMA node1 CPU(s):   8-15")
    (NumaNode(node=0, cpus='0-7'), NumaNode(node=1, cpus='8-15'))
    >>> parse_lscpu("NUMA-Knoten0 CPU(s):    0-15,32-47")
    (NumaNode(node=0, cpus='0-15,32-47'),)
    """
    found: dict[int, str] = {}
    for line in text.splitlines():
        label, _, value = line.replace("\N{FULLWIDTH COLON}", ":").partition(":")
        numbers = re.findall(r"\d+", label)
        if "NUMA" in label.upper() and len(numbers) == 1 and RANGES.fullmatch(value.strip()):
            found[int(numbers[0])] = value.strip()
    return _nodes(found)


def node_numbers(listing: str) -> tuple[int, ...]:
    r"""The nodes of the folder /sys/devices/system/node.

    >>> node_numbers("has_cpu\nnode0\nnode1\nonline")
    (0, 1)
    """
    return tuple(sorted(int(name[1]) for entry in listing.split() if (name := NODE_FOLDER.fullmatch(entry))))


def as_ranges(cpus: list[int]) -> str:
    """CPU numbers as Linux writes lists of them.

    >>> as_ranges([0, 1, 2, 3, 8, 9]), as_ranges([5]), as_ranges([])
    ('0-3,8-9', '5', '')
    """
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _nodes(found: dict[int, str]) -> tuple[NumaNode, ...]:
    if not found:
        raise LookupError("no NUMA node")
    return tuple(NumaNode(node=node, cpus=cpus) for node, cpus in sorted(found.items()))
