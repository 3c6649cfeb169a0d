"""GPUs and processes over time as `nvidia-smi dmon` and `nvidia-smi pmon` print them, any groups of columns."""

from collections.abc import Iterator

from rigwise.probes.gpu.gpus_from_csv import looks_apart, thinned
from rigwise.probes.gpu.smi_views import EXACT_MONITOR, Cell, GpuCells, ProcessCells, SmiView, cell, moment
from rigwise.records.evidence import Evidence

COLUMNS = {
    "pwr": ("power_readings/power_draw", " W"),
    "gtemp": ("temperature/gpu_temp", " C"),
    "temp": ("temperature/gpu_temp", " C"),
    "mtemp": ("temperature/memory_temp", " C"),
    "sm": ("utilization/gpu_util", " %"),
    "mem": ("utilization/memory_util", " %"),
    "mclk": ("clocks/mem_clock", " MHz"),
    "pclk": ("clocks/sm_clock", " MHz"),
    "fb": ("fb_memory_usage/used", " MiB"),
    "tviol": ("thermal_violation", ""),
}
"""The columns of dmon that are read, with their path and unit; `sm` is the share of time in which a kernel ran."""
ROWS_TO_A_HEADER = 10
"""Within one watch the header comes again after a screen of rows, never sooner; sooner, it opens another watch."""

Row = dict[str, str]


def views_in_dmon(evidence: Evidence) -> list[SmiView]:
    r"""One view for each moment.

    >>> text = "# gpu    pwr  gtemp     sm   pclk\n# Idx      W      C      %    MHz\n    0    250     45     92   1980"
    >>> [view] = views_in_dmon(Evidence(source="command", key="nvidia-smi dmon", status="ok", text=text))
    >>> view.gpus[0].index, view.gpus[0].cells["clocks/sm_clock"].text
    (0, '1980 MHz')
    """
    return [
        SmiView(
            evidence=evidence,
            exactness=EXACT_MONITOR,
            gpus=tuple(GpuCells(index=int(row["gpu"]), cells=_cells(row)) for row in look),
            taken_at=moment(f"{look[0].get('date', '')} {look[0].get('time', '')}"),
            numbered=True,
            series=f"dmon {number}",
        )
        for number, rows in enumerate(_blocks(evidence.text))
        for look in _looks(rows)
    ]


def _blocks(text: str) -> Iterator[list[Row]]:
    """The rows of each watch; a header that comes again within one, as it does every few rows, opens no other."""
    header: list[str] = []
    rows: list[list[str]] = []
    num_since_header = 0
    for line in text.splitlines():
        words = line.replace("#", " ").split()
        lower = [word.lower() for word in words]
        if "gpu" in lower:
            if rows and (lower != header or num_since_header < ROWS_TO_A_HEADER):
                yield _rows(header, rows)
                rows = []
            header, num_since_header = lower, 0
        elif header and len(words) >= len(header) and _number_at(words, header.index("gpu")):
            rows.append(words)
            num_since_header += 1
    if rows:
        yield _rows(header, rows)


def _number_at(words: list[str], place: int) -> bool:
    return words[place].isdecimal()


def _rows(header: list[str], rows: list[list[str]]) -> list[Row]:
    num_gpus = looks_apart([row[header.index("gpu")] for row in rows])
    return [dict(zip(header, row, strict=False)) for row in thinned(rows, num_gpus)]


def _looks(rows: list[Row]) -> Iterator[list[Row]]:
    """Rows until a GPU comes again."""
    look: list[Row] = []
    for row in rows:
        if any(one["gpu"] == row["gpu"] for one in look):
            yield look
            look = []
        look.append(row)
    if look:
        yield look


def _cells(row: Row) -> dict[str, Cell]:
    told = {path: (name, row[name], unit) for name, (path, unit) in COLUMNS.items() if row.get(name, "-") != "-"}
    return {path: cell(name, f"{text}{unit}") for path, (name, text, unit) in told.items()}


def views_in_pmon(evidence: Evidence) -> list[SmiView]:
    r"""One view of every process that was seen.

    >>> text = "# gpu pid type sm mem command\n# Idx # C/G % % name\n 0 14835 C 45 15 python\n 0 14835 C 40 15 python\n"
    >>> [view] = views_in_pmon(Evidence(source="command", key="nvidia-smi pmon", status="ok", text=text))
    >>> view.gpus[0].processes
    (ProcessCells(pid='14835', kind='C', name='python', used='N/A'),)
    """
    seen: dict[int, dict[str, ProcessCells]] = {}
    for rows in _blocks(evidence.text):
        for row in rows:
            processes = seen.setdefault(int(row["gpu"]), {})
            if row.get("pid", "").isdecimal():
                used = row.get("fb", "-")
                processes[row["pid"]] = ProcessCells(
                    row["pid"], row.get("type", "C"), row.get("command", ""), "N/A" if used == "-" else f"{used} MiB"
                )
    gpus = tuple(GpuCells(index=gpu, cells={}, processes=tuple(one.values())) for gpu, one in seen.items())
    return [SmiView(evidence=evidence, exactness=EXACT_MONITOR, gpus=gpus, numbered=True)] if gpus else []
