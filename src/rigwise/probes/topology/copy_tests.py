"""Speeds of copies as NVIDIA's own tools print them: p2pBandwidthLatencyTest, nvbandwidth, bandwidthTest."""

import re
from collections.abc import Iterator

from rigwise.probes.gpu.smi_views import EXACT_LIST, GpuCells, SmiView, cell
from rigwise.records.evidence import Evidence
from rigwise.records.topology import HostCopies, PairCopies

ACCESS = re.compile(r"Device=(\d+) (CAN(?:NOT)?) Access Peer Device=(\d+)")
THROUGH_HOST = "Unidirectional P2P=Disabled Bandwidth"
DIRECT = "Unidirectional P2P=Enabled Bandwidth"
ROW = re.compile(r"\s*(\d+)\s+([\d.\sN/A]+)$")
DEVICE = re.compile(r"\s*Device (\d+): (.+?)\s*(?:\([0-9a-f:]+\))?\s*$")
NVBANDWIDTH = {"Running host_to_device_memcpy_ce": "to", "Running device_to_host_memcpy_ce": "from"}
BANDWIDTH_TEST = {"Host to Device Bandwidth": "to", "Device to Host Bandwidth": "from"}
KEY = "nvbandwidth"
BANDWIDTH_ROW = re.compile(r"\s*\d{4,}\s+(\d+(?:\.\d+)?)\s*$")


def parse_pair_copies(text: str) -> PairCopies:
    r"""The one-way speeds of p2pBandwidthLatencyTest, with and without peer access.

    Raises:
        LookupError: it holds neither a speed nor who may access whom.

    >>> text = r'''Device=0 CAN Access Peer Device=1
    ... Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
    ...    D\D     0      1
    ...      0 911.08  20.10
    ...      1  20.39 920.20
    ... Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
    ...    D\D     0      1
    ...      0 912.68   9.90'''
    >>> copies = parse_pair_copies(text)
    >>> copies.through_host[0, 1], copies.direct[0, 1], copies.refused
    (20.1, 9.9, ())
    """
    tables: dict[str, dict[tuple[int, int], float]] = {THROUGH_HOST: {}, DIRECT: {}}
    refused: set[tuple[int, int]] = set()
    answered, current = False, ""
    for line in text.splitlines():
        if access := ACCESS.search(line):
            answered = True
            if access[2] == "CANNOT":
                refused.add((int(access[1]), int(access[3])))
        elif "Matrix" in line:
            current = next((title for title in tables if title in line), "")
        elif current and (row := ROW.match(line)):
            source = int(row[1])
            for target, speed in enumerate(_numbers(row[2])):
                if speed is not None and target != source:
                    tables[current].setdefault((source, target), speed)
    if not (answered or tables[THROUGH_HOST]):
        raise LookupError("no speed")
    return PairCopies(through_host=tables[THROUGH_HOST], direct=tables[DIRECT], refused=tuple(sorted(refused)))


def parse_host_copies(text: str) -> tuple[HostCopies, ...]:
    r"""The speeds of copies from and to pinned host memory that nvbandwidth or bandwidthTest measured.

    Raises:
        LookupError: it holds none.

    >>> parse_host_copies('''Device 0: NVIDIA GeForce RTX 4090
    ... Running host_to_device_memcpy_ce.
    ... memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
    ...           0
    ... 0     25.50
    ... SUM host_to_device_memcpy_ce 25.50''')
    (HostCopies(gpu=0, name='NVIDIA GeForce RTX 4090', to_gpu=25.5, from_gpu=None, slowest_run=None),)
    """
    names: dict[int, str] = {}
    speeds: dict[tuple[int, str], float] = {}
    for line in text.splitlines():
        if device := DEVICE.match(line):
            names[int(device[1])] = device[2]
    runs = [*_of_nvbandwidth(text), *_of_bandwidth_test(text, min(names, default=0))]
    for gpu, way, speed in runs:
        speeds[gpu, way] = max(speed, speeds.get((gpu, way), 0.0))
    if not speeds:
        raise LookupError("no speed")
    several = len(names) == 1 and len(runs) > len(speeds)
    slowest = min(speed for _gpu, _way, speed in runs) if several else None
    return tuple(
        HostCopies(
            gpu=gpu,
            name=names.get(gpu, ""),
            to_gpu=speeds.get((gpu, "to")),
            from_gpu=speeds.get((gpu, "from")),
            slowest_run=slowest,
        )
        for gpu in sorted({gpu for gpu, _ in speeds})
    )


def views_in_copy_test(evidence: Evidence) -> list[SmiView]:
    """The GPUs that were measured, by name."""
    gpus = tuple(
        GpuCells(index=int(device[1]), cells={"product_name": cell("Device", device[2])})
        for device in {line: DEVICE.match(line) for line in evidence.text.splitlines()}.values()
        if device
    )
    return [SmiView(evidence=evidence, exactness=EXACT_LIST, gpus=gpus, numbered=True)] if gpus else []


def _of_nvbandwidth(text: str) -> Iterator[tuple[int, str, float]]:
    """GPU, direction and speed; the first row of each table, for the CPU is one row."""
    way = ""
    for line in text.splitlines():
        if line.strip().startswith("Running "):
            way = next((way for title, way in NVBANDWIDTH.items() if line.strip().startswith(title)), "")
        elif way and (row := ROW.match(line)) and "." in row[2]:
            yield from ((gpu, way, speed) for gpu, speed in enumerate(_numbers(row[2])) if speed is not None)
            way = ""


def _of_bandwidth_test(text: str, gpu: int) -> Iterator[tuple[int, str, float]]:
    """GPU, direction and best speed of each test of pinned copies; bandwidthTest tests one GPU at a time."""
    way, pinned, scale, best = "", False, 1.0, 0.0
    for line in [*text.splitlines(), "Bandwidth, "]:
        if "Bandwidth, " in line:
            if best:
                yield gpu, way, best
            way, best = next((way for title, way in BANDWIDTH_TEST.items() if title in line), ""), 0.0
        elif "Memory Transfers" in line:
            pinned = "PINNED" in line
        elif "Bandwidth(" in line:
            scale = 1000.0 if "MB/s" in line else 1.0
        elif way and pinned and (row := BANDWIDTH_ROW.match(line)):
            best = max(best, float(row[1]) / scale)


def _numbers(cells: str) -> Iterator[float | None]:
    """The cells of a row; None for `N/A` and what is no number."""
    for text in cells.split():
        try:
            yield float(text)
        except ValueError:
            yield None
