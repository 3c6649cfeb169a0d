"""Writes docs/checks.md from the catalogue of checks. `--check` only says whether the page is up to date.

python scripts/generate_docs.py [--check]
"""

import importlib
import inspect
import sys
from pathlib import Path

from rigwise.knowledge.check_catalogue import CheckRow, check_catalogue

PAGE = Path(__file__).resolve().parent.parent / "docs" / "checks.md"
HEAD = """# Checks

Made by `make docs` from `src/rigwise/knowledge/checks.toml` and the checks' own words. In order of trust: a check
explains the ones that follow it.
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(section(check, row) for check, row in check_catalogue().items())


def section(check: str, row: CheckRow) -> str:
    """One check: what, severity, what to do, what explains it, sources."""
    words = inspect.getdoc(importlib.import_module(f"rigwise.checks.{check}")) or ""
    lines = [f"\n## {check}\n", f"**{row.title}** ({row.severity})\n", words + "\n", f"*What to do:* {row.action}\n"]
    lines += ["```", *row.next_steps, "```\n"] if row.next_steps else []
    lines += [f"*A symptom of:* {', '.join(row.follows)}\n"] if row.follows else []
    lines += [f"*Sources* (read {row.checked_on}): " + ", ".join(row.sources) + "\n"]
    return "\n".join(lines)


def main() -> int:
    """Write the page, or with --check compare it."""
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(f"{PAGE.name} is out of date: make docs", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
