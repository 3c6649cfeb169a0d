"""GPUs and processes as the CSV of `nvidia-smi --query-gpu` and `--query-compute-apps` gives them, once or often."""

import csv
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from rigwise.knowledge.smi_fields import paths_by_column
from rigwise.probes.gpu.smi_views import EXACT_CSV, Cell, GpuCells, ProcessCells, SmiView, cell, moment
from rigwise.records.evidence import Evidence

NAME = re.compile(r"[a-z][a-z0-9_.]{1,80}")
UNIT = re.compile(r"\[[^\]]{0,20}\]\s*$")
IDENTITY = ("uuid", "pci/pci_bus_id", "index")
WHOLE_LOG = ("driver_version", "attached_gpus")
PROCESS_COLUMNS = {
    "pid": "pid",
    "process_name": "name",
    "name": "name",
    "used_gpu_memory": "used",
    "used_memory": "used",
}
MOST_ROWS = 5000
"""Our choice: a longer watch is thinned evenly, so that any length is read in the same time."""
AT_ONCE_SECONDS = 0.09
"""Our choice: rows of one look carry times some milliseconds apart; the shortest loop in use waits 100 ms."""
SEVERAL_LOOKS = 2

Row = dict[str, Cell]
T = TypeVar("T")


def views_in_csv(evidence: Evidence) -> list[SmiView]:
    r"""One view for each look; a look ends where a GPU comes again.

    >>> text = "index, utilization.gpu [%], memory.used [MiB]\n0, 99 %, 30994 MiB\n1, 0 %, 3 MiB\n0, 98 %, 30994 MiB\n"
    >>> views = views_in_csv(Evidence(source="command", key="nvidia-smi --query-gpu", status="ok", text=text))
    >>> [len(view.gpus) for view in views], views[1].gpus[0].cells["utilization/gpu_util"].text
    ([2, 1], '98 %')
    """
    views: list[SmiView] = []
    for number, (header, rows) in enumerate(_blocks(evidence.text)):
        paths = [paths_by_column().get(_column(name), "") for name in header]
        told = [
            {path: cell(name, text) for path, name, text in zip(paths, header, row, strict=False) if path}
            for row in thinned(rows, _num_gpus(paths, rows))
        ]
        looks = list(_looks([one for one in told if one]))
        series = f"csv {number}" if len(looks) >= SEVERAL_LOOKS else ""
        views.extend(_view(look, evidence, series) for look in looks)
    return views


def thinned(rows: Sequence[T], num_gpus: int = 1) -> list[T]:
    """At most about MOST_ROWS of the rows, evenly chosen: whole looks at all of the GPUs, or one GPU would be left.

    >>> MOST_ROWS, len(thinned(range(20_000))), sorted({row % 8 for row in thinned(range(40_000), 8)})
    (5000, 5000, [0, 1, 2, 3, 4, 5, 6, 7])
    """
    step = max(1, -(-len(rows) // MOST_ROWS))
    return [row for place, row in enumerate(rows) if place // num_gpus % step == 0]


def looks_apart(names: Sequence[str]) -> int:
    """How many rows later the GPU of the first row comes again: the number of GPUs in a look.

    >>> looks_apart(["0", "1", "0", "1"]), looks_apart(["0"]), looks_apart([])
    (2, 1, 1)
    """
    return next((place for place, name in enumerate(names) if place and name == names[0]), 1)


def _num_gpus(paths: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """GPUs in a look, by the surest column that names them; 1 where no column does."""
    column = next((paths.index(path) for path in IDENTITY if path in paths), None)
    return 1 if column is None else looks_apart([row[column].strip() for row in rows])


def _blocks(text: str) -> Iterator[tuple[list[str], list[Sequence[str]]]]:
    """Each header with the rows below it."""
    header: list[str] = []
    rows: list[Sequence[str]] = []
    for line in text.splitlines():
        fields = _fields(line)
        if _is_header(fields):
            if header:
                yield header, rows
            header, rows = fields, []
        elif len(fields) == len(header):
            rows.append(fields)
    if header:
        yield header, rows


def _fields(line: str) -> list[str]:
    """The cells of a line.

    >>> _fields('0, "GeForce, RTX", 31 %'), _fields("0, 99 %")
    (['0', 'GeForce, RTX', '31 %'], ['0', '99 %'])
    """
    if '"' in line:
        return next(csv.reader([line.replace("\x00", "")], skipinitialspace=True), [])
    return [field.lstrip(" ") for field in line.split(",")] if line else []


def _is_header(fields: Sequence[str]) -> bool:
    """Whether every field could be a column's name, and one is."""
    columns = [_column(name) for name in fields]
    return all(NAME.fullmatch(column) for column in columns) and any(one in paths_by_column() for one in columns)


def _column(name: str) -> str:
    """A column's name without its unit: `memory.used` for `memory.used [MiB]`."""
    return UNIT.sub("", name).strip().lower()


def _looks(rows: list[Row]) -> Iterator[list[Row]]:
    """Rows of the same moment together."""
    look: list[Row] = []
    for row in rows:
        if look and (_same_gpu(row, look) or _later(row, look[-1])):
            yield look
            look = []
        look.append(row)
    if look:
        yield look


def _same_gpu(row: Row, look: list[Row]) -> bool:
    """Whether a row tells of a GPU that the look already holds."""
    identity = next((path for path in IDENTITY if path in row), "")
    return bool(identity) and any(one.get(identity) == row[identity] for one in look)


def _later(row: Row, before: Row) -> bool:
    now, then = _moment(row), _moment(before)
    return now is not None and then is not None and abs((now - then).total_seconds()) > AT_ONCE_SECONDS


def _moment(row: Row) -> datetime | None:
    return moment(row["timestamp"].text) if "timestamp" in row else None


def _view(look: list[Row], evidence: Evidence, series: str) -> SmiView:
    numbered = all("index" in row and row["index"].text.isdecimal() for row in look)
    gpus = tuple(
        GpuCells(index=int(row["index"].text) if numbered else place, cells=row) for place, row in enumerate(look)
    )
    log = {path: look[0][path] for path in WHOLE_LOG if path in look[0]}
    return SmiView(
        evidence=evidence,
        exactness=EXACT_CSV,
        gpus=gpus,
        log=log,
        taken_at=_moment(look[0]),
        numbered=numbered,
        series=series,
    )


def views_of_processes(evidence: Evidence) -> list[SmiView]:
    r"""One view of the compute processes listed; without a GPU's name in the rows they are those of the only GPU.

    >>> text = "pid, process_name, used_gpu_memory [MiB]\n5267, ffmpeg, 230 MiB\n"
    >>> [view] = views_of_processes(
    ...     Evidence(source="command", key="nvidia-smi --query-compute-apps", status="ok", text=text))
    >>> view.gpus[0].processes
    (ProcessCells(pid='5267', kind='C', name='ffmpeg', used='230 MiB'),)
    """
    header: list[str] = []
    found: dict[str, tuple[Row, dict[str, ProcessCells]]] = {}
    for line in evidence.text.splitlines():
        fields = [field.strip() for field in next(csv.reader([line.replace("\x00", "")], skipinitialspace=True), [])]
        if "pid" in map(_column, fields):
            header = [_column(name) for name in fields]
            continue
        row = dict(zip(header, fields, strict=False))
        if len(fields) != len(header) or not row.get("pid", "").isdecimal():
            continue
        cells = {
            paths_by_column()[name]: cell(name, text)
            for name, text in row.items()
            if name in ("gpu_uuid", "gpu_bus_id")
        }
        name_of_gpu = " ".join(one.text for one in cells.values())
        found.setdefault(name_of_gpu, (cells, {}))[1][row["pid"]] = _process(row)
    gpus = tuple(
        GpuCells(index=place, cells=cells, processes=tuple(processes.values()))
        for place, (cells, processes) in enumerate(found.values())
    )
    return [SmiView(evidence=evidence, exactness=EXACT_CSV, gpus=gpus)] if gpus else []


def _process(row: dict[str, str]) -> ProcessCells:
    named = {PROCESS_COLUMNS[column]: text for column, text in row.items() if column in PROCESS_COLUMNS}
    return ProcessCells(named["pid"], "C", named.get("name", ""), named.get("used", "N/A"))
