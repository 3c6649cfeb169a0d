"""GPUs as the table of `nvidia-smi` shows them, for every layout from driver 300 to 610, borders or not.

Rows are recognised by what they hold, never by their columns' positions: pastes lose spaces, borders, right columns
and the end. The process list counts only where its end is seen, for a part of it must not pass for the whole.
"""

import re
from collections.abc import Iterator

import msgspec

from rigwise.probes.gpu.gpus_from_csv import SEVERAL_LOOKS, thinned
from rigwise.probes.gpu.smi_views import EXACT_TABLE, Cell, GpuCells, ProcessCells, SmiView, cell, moment
from rigwise.records.evidence import Evidence

HEADER = re.compile(r"NVIDIA-SMI\s+(\d{3}\.[\d.]{1,12})")
DRIVER = re.compile(r"(?:Driver|KMD) Version\s*:\s*(\d{3}\.[\d.]{1,12})")
CUDA = re.compile(r"CUDA (?:UMD )?Version\s*:\s*(\d{1,2}\.\d{1,2})")
BORDER = re.compile(r"^[\s|]*[+|]?[-=+]{8,}")
BUS_ID = re.compile(r"\b((?:[0-9A-Fa-f]{4,8}:)[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\b")
GPU = re.compile(r"^\s*(\d{1,3})\s+(\S.{1,50}?)\s+(On|Off|N/A|WDDM|TCC|MCDM)\s*$")
NO_VALUE = r"N/A|ERR!|Unknown Error|GPU is lost"
MEMORY = re.compile(r"(\d+)\s*M[il]B\s*/\s*(\d+)\s*M[il]B")
STATE = re.compile(rf"^\s*(\d+\s*%|{NO_VALUE})\s+(\d+\s*C|{NO_VALUE})\s+(P\d+|{NO_VALUE})")
POWER = re.compile(rf"(\d+\s*W|{NO_VALUE})\s*/\s*(\d+\s*W|{NO_VALUE})")
UTILIZATION = re.compile(rf"^[\s|]*(\d+\s*%|{NO_VALUE})(?:[\s|]|$)")
PROCESS = re.compile(
    r"^\s*(?P<gpu>\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d+)\s+(?:(?P<kind>C\+G|M\+C|C|G)\s+)?"
    r"(?P<name>\S.*?)??\s*(?P<used>\d+\s*M[il]B|N/A|\[N/A\])?\s*$"
)
PROCESS_WITHOUT_INSTANCE = re.compile(
    r"^\s*(?P<gpu>\d{1,3})\s+(?P<pid>\d+)\s+(?:(?P<kind>C\+G|M\+C|C|G)\s+)?"
    r"(?P<name>\S.*?)??\s*(?P<used>\d+\s*M[il]B|N/A|\[N/A\])?\s*$"
)
ONE_GPU_MIB = 64
"""Our choice: a program at work keeps its memory; two GPUs of a machine hardly ever have so equal loads."""
MODELS = frozenset({"WDDM", "TCC", "MCDM"})
MIG_STATES = frozenset({"Enabled", "Enabled*", "Disabled", "Disabled*"})


class _Draft(msgspec.Struct):
    """One table while it is read."""

    header: str = ""
    taken_at: str = ""
    section: str = "gpus"
    gpus: dict[int, dict[str, Cell]] = {}
    current: int = -1
    processes: dict[int, list[ProcessCells]] = {}
    with_instances: bool = False
    bordered: bool = False
    list_ended: bool = False
    list_begun: bool = False
    untold: bool = False


def views_in_table(evidence: Evidence) -> list[SmiView]:
    """One view for each table in the text; of rows without any table around them, one for each row."""
    drafts = (_draft(lines) for lines in _tables(evidence.text))
    views = [_view(draft, evidence) for draft in drafts if draft.gpus or draft.header]
    return views or _views_of_rows(evidence)


def _views_of_rows(evidence: Evidence) -> list[SmiView]:
    r"""What `nvidia-smi -l 1 | grep MiB` leaves of a watch: the second line of each table.

    Where the rows cannot be those of one GPU, for its memory in use jumps, nothing tells which is whose.

    >>> row = "| N/A   44C    P0    72W / 300W |   5484MiB / 16130MiB |      0%      Default |"
    >>> views = _views_of_rows(Evidence(source="command", key="nvidia-smi", status="ok", text=f"{row}\n{row}"))
    >>> len(views), views[0].series, views[0].gpus[0].cells["power_readings/power_draw"].text
    (2, 'rows', '72W')
    """
    plain = [line.replace("|", " ") for line in evidence.text.splitlines()]
    found = [(row, memory) for row in plain if STATE.match(row) and (memory := MEMORY.search(row))]
    used = [int(memory[1]) for _row, memory in found]
    if len(found) < SEVERAL_LOOKS or max(used) - min(used) > ONE_GPU_MIB:
        return []
    if len({memory[2] for _row, memory in found}) > 1:
        return []
    cells = [_state_cells(row) for row, _memory in thinned(found)]
    return [
        SmiView(evidence=evidence, exactness=EXACT_TABLE, gpus=(GpuCells(index=0, cells=one),), series="rows")
        for one in cells
    ]


def _tables(text: str) -> Iterator[list[str]]:
    """The lines of each table, from the time above it on."""
    lines: list[str] = []
    for line in text.splitlines():
        if HEADER.search(line) and any(HEADER.search(one) or "Bus-Id" in one for one in lines):
            above = lines.pop() if BORDER.match(lines[-1]) else ""
            dated = lines.pop() if lines and moment(lines[-1]) else ""
            yield lines
            lines = [dated, above]
        lines.append(line)
    yield lines


def _draft(lines: list[str]) -> _Draft:
    draft = _Draft()
    for line in lines:
        if BORDER.match(line):
            draft.bordered = True
            draft.list_ended = draft.list_ended or (
                draft.section == "processes" and "=" not in line and draft.list_begun
            )
        else:
            _take(draft, line)
    return draft


def _take(draft: _Draft, line: str) -> None:
    plain = line.replace("|", " ").replace("│", " ")
    if HEADER.search(line):
        draft.header = line.strip(" |\t")
    elif not draft.gpus and not draft.taken_at and moment(line):
        draft.taken_at = line
    elif "No MIG devices found" in line:
        for cells in draft.gpus.values():
            cells["num_mig_devices"] = Cell("0", " ".join(plain.split()))
    elif "MIG devices" in line:
        draft.section = "mig"
    elif re.search(r"\b(?:Processes|processes)\s*:", line):
        draft.section = "processes"
    elif draft.section == "processes":
        _take_process(draft, plain)
    elif draft.section == "gpus":
        _take_gpu(draft, line, plain)


def _take_gpu(draft: _Draft, line: str, plain: str) -> None:
    """A line about a GPU: the first (name), the second (state) or the third (MIG)."""
    address = BUS_ID.search(plain)
    first = GPU.match(plain[: address.start()] if address else _first_column(line))
    if first and (address or not MEMORY.search(plain)):
        draft.current = int(first[1])
        draft.gpus[draft.current] = _name_cells(first, address, plain)
    elif draft.current >= 0:
        cells = draft.gpus[draft.current]
        if STATE.match(plain) or MEMORY.search(plain):
            cells.update(_state_cells(plain))
        elif (words := plain.split()) and len(words) == 1 and words[0] in MIG_STATES:
            cells["mig_mode/current_mig"] = cell("MIG M.", words[0])


def _first_column(line: str) -> str:
    return line.strip().strip("|").split("|")[0]


def _name_cells(first: re.Match[str], address: re.Match[str] | None, plain: str) -> dict[str, Cell]:
    line = " ".join(plain.split())
    cells = {"product_name": Cell(first[2], line)}
    mode = "driver_model/current_dm" if first[3] in MODELS else "persistence_mode"
    cells[mode] = cell("Persistence-M", {"On": "Enabled", "Off": "Disabled"}.get(first[3], first[3]))
    if address is None:
        return cells
    cells["pci/pci_bus_id"] = Cell(address[1], line)
    rest = plain[address.end() :].split()
    if rest:
        cells["display_active"] = cell("Disp.A", {"On": "Enabled", "Off": "Disabled"}.get(rest[0], rest[0]))
    if len(rest) > 1 and (rest[1].isdecimal() or rest[1] == "N/A"):
        cells["ecc_errors/volatile/double_bit/total"] = cell("Volatile Uncorr. ECC", rest[1])
    return cells


def _state_cells(plain: str) -> dict[str, Cell]:
    """Fan, temperature, performance state, power, memory, utilisation: as far as the line goes."""
    cells: dict[str, Cell] = {}
    state, memory = STATE.match(plain), MEMORY.search(plain)
    power = POWER.search(plain[: memory.start()] if memory else plain, state.end() if state else 0)
    line = " ".join(plain.split())
    if state:
        cells["fan_speed"] = Cell(state[1], line)
        cells["temperature/gpu_temp"] = Cell(state[2], line)
        cells["performance_state"] = Cell(state[3], line)
    if power:
        cells["power_readings/power_draw"] = Cell(power[1], line)
        cells["power_readings/enforced_power_limit"] = Cell(power[2], line)
    if memory:
        cells["fb_memory_usage/used"] = Cell(f"{memory[1]} MiB", line)
        cells["fb_memory_usage/total"] = Cell(f"{memory[2]} MiB", line)
        used = UTILIZATION.match(plain[memory.end() :])
        if used:
            cells["utilization/gpu_util"] = Cell(used[1], line)
    lost = re.search("GPU is lost|GPU requires reset", plain)
    if lost:
        cells["handle"] = Cell(lost[0], line)
    return cells


def _take_process(draft: _Draft, plain: str) -> None:
    """A line of the process list; its runs of spaces are no part of a name, and slow to search."""
    plain = " ".join(plain.split())
    if "No running" in plain:
        draft.list_begun = True
    elif re.search(r"\bGI\b.*\bCI\b", plain):
        draft.with_instances = True
    elif "Not Supported" in plain:
        draft.list_begun = draft.untold = True
    else:
        found = (PROCESS if draft.with_instances else PROCESS_WITHOUT_INSTANCE).match(plain) or PROCESS.match(plain)
        if found:
            draft.list_begun = True
            cells = ProcessCells(found["pid"], found["kind"] or "C", found["name"] or "", found["used"] or "N/A")
            draft.processes.setdefault(int(found["gpu"]), []).append(cells)


def _view(draft: _Draft, evidence: Evidence) -> SmiView:
    whole = draft.list_begun and not draft.untold and (draft.list_ended or not draft.bordered)
    gpus = tuple(
        GpuCells(
            index=index,
            cells=cells | ({"processes": cell("Processes", "N/A")} if draft.untold else {}),
            processes=tuple(draft.processes.get(index, ())) if whole else None,
        )
        for index, cells in draft.gpus.items()
    )
    return SmiView(
        evidence=evidence,
        exactness=EXACT_TABLE,
        gpus=gpus,
        log=_log_cells(draft.header),
        taken_at=moment(draft.taken_at),
        numbered=True,
    )


def _log_cells(header: str) -> dict[str, Cell]:
    r"""The versions in the table's head, or in `nvidia-smi --version`.

    >>> head = "NVIDIA-SMI 610.88   KMD Version: 610.88   CUDA UMD Version: 13.3"
    >>> {path: found.text for path, found in _log_cells(head).items()}
    {'driver_version': '610.88', 'cuda_version': '13.3'}
    """
    found = {"driver_version": DRIVER.search(header) or HEADER.search(header), "cuda_version": CUDA.search(header)}
    return {path: Cell(one[1], header) for path, one in found.items() if one}


def view_of_versions(evidence: Evidence) -> SmiView:
    """What `nvidia-smi --version` prints."""
    lines = " ".join(re.sub(r"(?i)driver version", "Driver Version", evidence.text).split())
    lines = re.sub(r"(?i)cuda version", "CUDA Version", lines)
    return SmiView(evidence=evidence, exactness=EXACT_TABLE, gpus=(), log=_log_cells(lines))
