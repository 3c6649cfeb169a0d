"""The tables of `nvidia-smi topo`: one row and one column for each GPU and network card."""

import re
from collections.abc import Iterator

from rigwise.records.topology import Matrix

GPU = re.compile(r"GPU(\d+)")
CELL = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|C2C|OK|GNS|CNS|TNS|NS|DR|U")
"""Connections of `topo -m` (SOC is the SYS of drivers before 396), and states of `topo -p2p`."""
CPU_RANGES = re.compile(r"\d[\d,-]*")
ALLOWED = "OK"
"""The state of `topo -p2p` in which one GPU may read or write the other's memory."""
SELF = "X"
STYLE = re.compile(r"\x1b\[[\d;]*m")


def parse_matrix(text: str) -> Matrix:
    r"""The connections that `nvidia-smi topo -m` shows, of every GPU whose row is there.

    Raises:
        LookupError: there is no row.

    >>> heading = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity"
    >>> matrix = parse_matrix(heading + "\nGPU0\t X \tNV4\tPIX\t0-15\t0\nGPU1\tNV4\t X \tSYS\t16-31\t1")
    >>> matrix.gpus, list(matrix.pairs()), matrix.cpu_affinity[1], matrix.numa_affinity[1], matrix.num_nics
    ((0, 1), [(0, 1, 'NV4')], '16-31', '1', 1)
    """
    cells: dict[tuple[int, int], str] = {}
    cpus: dict[int, str] = {}
    nodes: dict[int, str] = {}
    columns: list[str] = []
    for columns, row, values, rest in _rows(text):
        cells |= {(row, gpu): value for gpu, value in _by_gpu(columns, values) if gpu != row}
        told = [word for word in rest if CPU_RANGES.fullmatch(word) or word == "N/A"]
        if told and told[0] != "N/A":
            cpus[row] = told[0]
        if len(told) > 1 and told[1] != "N/A":
            nodes[row] = told[1]
    return Matrix(
        gpus=_gpus(columns),
        cells=cells,
        cpu_affinity=cpus,
        numa_affinity=nodes,
        num_nics=sum(not GPU.fullmatch(name) for name in columns),
    )


def parse_peer_access(text: str) -> Matrix:
    r"""Which GPU may use which other one's memory, of `nvidia-smi topo -p2p r`, `w`, `n`, `a` or several of them.

    Where one of the tables refuses a pair, the refusal stays.

    Raises:
        LookupError: there is no row.

    >>> list(parse_peer_access(" \tGPU0\tGPU1\t\n GPU0\tX\tGNS\t\n GPU1\tGNS\tX\t").pairs())
    [(0, 1, 'GNS')]
    """
    cells: dict[tuple[int, int], str] = {}
    columns: list[str] = []
    for columns, row, values, _ in _rows(text):
        for gpu, value in _by_gpu(columns, values):
            if gpu != row and cells.get((row, gpu), ALLOWED) == ALLOWED:
                cells[row, gpu] = value
    return Matrix(gpus=_gpus(columns), cells=cells)


def _rows(text: str) -> Iterator[tuple[list[str], int, list[str], list[str]]]:
    """For each GPU's row: the names of the columns, the GPU, its cells, and the words after them."""
    columns: list[str] = []
    for line in STYLE.sub("", text).splitlines():
        words = line.split()
        if not words or not (gpu := GPU.fullmatch(words[0])):
            continue
        if len(words) == 1 or not CELL.fullmatch(words[1]):
            columns = words[: words.index("CPU")] if "CPU" in words else words
            continue
        num_cells = next((n for n, word in enumerate(words[1:]) if not CELL.fullmatch(word)), len(words) - 1)
        num_cells = min(num_cells, len(columns))
        if num_cells:
            yield columns, int(gpu[1]), words[1 : 1 + num_cells], words[1 + num_cells :]


def _by_gpu(columns: list[str], values: list[str]) -> Iterator[tuple[int, str]]:
    for name, value in zip(columns, values, strict=False):
        if gpu := GPU.fullmatch(name):
            yield int(gpu[1]), value


def _gpus(columns: list[str]) -> tuple[int, ...]:
    """The GPUs of the columns.

    Raises:
        LookupError: no table was read.
    """
    if not columns:
        raise LookupError("no row of a GPU")
    return tuple(int(gpu[1]) for name in columns if (gpu := GPU.fullmatch(name)))
