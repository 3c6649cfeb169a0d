"""Injects every fault of tests/cases into a recorded machine, and prints which check then leads.

python scripts/fault_matrix.py [CHECK ...]      (make matrix)

A fault belongs on the diagonal: its own check leads the report, whatever else it upsets. A case whose check is to be
folded under a cause further up says so (`symptom_of`), and then that cause is the one to lead. Exit status 1 when any
fault is led by another check.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from checks.overlay import OverlaySource, read_case  # noqa: E402

from rigwise.engine import judge  # noqa: E402
from rigwise.knowledge.check_catalogue import check_catalogue  # noqa: E402
from rigwise.probes.rig import read_rig  # noqa: E402
from rigwise.records.finding import CheckReport, Severity, Verdict  # noqa: E402

CASES = ROOT / "tests" / "cases"
NONE = "(none)"


class Injection(NamedTuple):
    """One fault, injected once."""

    case: str
    fault: str
    """The check that must lead."""
    leader: str
    """The check that does."""


def injections(only: Sequence[str] = ()) -> Iterator[Injection]:
    """Every problem case, diagnosed."""
    for path in sorted(CASES.glob("*/problem_*.toml")):
        check = path.parent.name
        if not only or check in only:
            case = read_case(path)
            fault = case.symptom_of or check
            report = judge(read_rig(OverlaySource(case), deep=True))
            yield Injection(f"{check}/{path.stem}", fault, leader(report, fault))


def leader(report: CheckReport, fault: str) -> str:
    """The first cause of the report; where nothing is graver than a note, the fault's own note will do."""
    problems = [finding for finding in report.findings if finding.verdict is Verdict.PROBLEM]
    named = [finding.check for finding in problems]
    if fault in named and all(finding.severity is Severity.NOTE for finding in problems):
        return fault
    return next(iter(named), NONE)


def matrix(found: Sequence[Injection]) -> Iterator[str]:
    """One row a fault, one column a leading check, in the catalogue's order; a cell counts injections."""
    order = [check for check in (*check_catalogue(), NONE) if any(check in (one.fault, one.leader) for one in found)]
    counts = Counter((one.fault, one.leader) for one in found)
    width = max(map(len, order), default=0)
    for fault in order:
        cells = "".join(cell(counts[fault, leading], fault == leading) for leading in order)
        yield f"{fault:>{width}} {cells}"


def cell(count: int, on_diagonal: bool) -> str:
    """One character: how often, at most 9; `.` for never, `:` for never on the diagonal."""
    if count == 0:
        return ":" if on_diagonal else "."
    return str(min(count, 9))


def main(only: Sequence[str]) -> int:
    """1 when a fault is led by another check."""
    found = list(injections(only))
    print("\n".join(matrix(found)))
    astray = [one for one in found if one.fault != one.leader]
    faults = {one.fault for one in found}
    print(f"\n{len(found)} injections of {len(faults)} faults, {len(astray)} led by another check")
    for one in astray:
        print(f"  {one.case}: {one.leader} leads instead of {one.fault}")
    return 1 if astray else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
