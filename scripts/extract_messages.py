"""Writes src/rigwise/locale/rigwise.pot: every sentence rigwise says, for a translator. It is not kept in git.

python scripts/extract_messages.py

A language, here French: copy the file to src/rigwise/locale/fr/LC_MESSAGES/rigwise.po, translate it, and beside it run
`msgfmt --check -o rigwise.mo rigwise.po`. Then `LANGUAGE=fr rigwise check` speaks French.
"""

import ast
import csv
import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, nodes

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "rigwise"
TEMPLATE = PACKAGE / "locale" / "rigwise.pot"
KNOWLEDGE = PACKAGE / "knowledge"
HEADER = r"""msgid ""
msgstr ""
"Project-Id-Version: rigwise\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"""


@dataclass(frozen=True)
class Said:
    """One call of say()."""

    sentence: object
    """The text, or None where it is no literal."""
    fields: frozenset[str | None]
    """The names of the values it is given; None among them stands for `**values`."""
    path: Path
    line: int


def said() -> Iterator[Said]:
    """Every call of say() in code and page templates, in the order of their files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from said_in_code(path)
    for path in sorted(PACKAGE.rglob("*.j2")):
        yield from said_in_page(path)


def said_in_code(path: Path) -> Iterator[Said]:
    """Every `say(...)` of a module, from top to bottom."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        if getattr(call.func, "id", None) == "say" or getattr(call.func, "attr", None) == "say":
            literal = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
            yield Said(literal, frozenset(keyword.arg for keyword in call.keywords), path, call.lineno)


def said_in_page(path: Path) -> Iterator[Said]:
    """Every `{{ say(...) }}` of a page template."""
    for call in Environment().parse(path.read_text(encoding="utf-8")).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "say":
            literal = call.args[0].value if isinstance(call.args[0], nodes.Const) else None
            fields = [*(keyword.key for keyword in call.kwargs), *([None] if call.dyn_kwargs else [])]
            yield Said(literal, frozenset(fields), path, call.lineno)


def said_by_tables() -> Iterator[tuple[Path, str]]:
    """The cells of the knowledge tables that their readers pass through say(), with their table."""
    for folder, columns in (("checks", ("title", "action")), ("signatures", ("meaning", "action", "surer"))):
        for table in sorted((KNOWLEDGE / folder).glob("*.toml")):
            for row in tomllib.loads(table.read_text(encoding="utf-8")).values():
                yield from ((table, row[column]) for column in columns if column in row)
    metrics, reasons = (KNOWLEDGE / name for name in ("metrics.csv", "clock_event_reasons.csv"))
    for table, columns in ((metrics, ("label", "description")), (reasons, ("meaning",))):
        for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
            yield from ((table, row[column]) for column in columns)
    for table in (KNOWLEDGE / "xids.csv", KNOWLEDGE / "xids_older.csv"):
        for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
            yield from ((table, row[column]) for column in ("name", "what_to_do", "rma") if row[column])
    codes = KNOWLEDGE / "error_codes.csv"
    for row in csv.DictReader(codes.read_text(encoding="utf-8").splitlines()):
        yield from ((codes, row[column]) for column in ("meaning", "action") if row[column])


def messages() -> dict[str, list[str]]:
    """Every sentence with the files that say it."""
    places: dict[str, list[str]] = {}
    for one in said():
        if isinstance(one.sentence, str) and one.sentence:
            places.setdefault(one.sentence, []).append(one.path.relative_to(PACKAGE.parent).as_posix())
    for path, sentence in said_by_tables():
        places.setdefault(sentence, []).append(path.relative_to(PACKAGE.parent).as_posix())
    return {sentence: list(dict.fromkeys(files)) for sentence, files in places.items()}


def entry(sentence: str, files: list[str]) -> str:
    """One entry of the template; msgfmt checks that a translation keeps the {named} fields.

    >>> print(entry("GPU {index} is lost", ["rigwise/engine.py"]))
    #: rigwise/engine.py
    #, python-brace-format
    msgid "GPU {index} is lost"
    msgstr ""
    <BLANKLINE>
    """
    flags = ["#, python-brace-format"] if "{" in sentence else []
    return "\n".join(
        [f"#: {' '.join(files)}", *flags, f"msgid {json.dumps(sentence, ensure_ascii=False)}", 'msgstr ""', ""]
    )


def main() -> int:
    """Write the template, and say how many sentences it holds."""
    found = messages()
    TEMPLATE.parent.mkdir(exist_ok=True)
    TEMPLATE.write_text("\n".join([HEADER, *(entry(*each) for each in found.items())]), encoding="utf-8")
    print(f"{TEMPLATE}: {len(found)} sentences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
