"""Imports point downwards only, and only the layers that may do so touch the driver, processes and torch."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rigwise

PACKAGE = Path(rigwise.__file__).parent

LAYERS = [
    {"cli", "web", "__main__"},
    {"report"},
    {"train", "bench", "baseline", "inference", "integrations", "cluster"},
    {"triage", "plan", "engine", "decide"},
    {"telemetry", "checks", "probes"},
    {"sources"},
    {"knowledge"},
    {"records"},
    {"errors", "units", "speech", "statistics", "__init__"},
]
HEIGHT = {name: len(LAYERS) - level for level, names in enumerate(LAYERS) for name in names}

MAY_IMPORT = {
    "pynvml": {"sources"},
    "subprocess": {"sources"},
    "torch": {"train", "bench", "integrations"},
    "sqlite3": {"telemetry"},
    "psutil": {"telemetry"},
    "plotly": {"report", "web"},
    "typer": {"cli"},
}
CHILD_SCRIPTS = {"probes/framework_probe.py"}
"""Run by the user's interpreter, never imported by ours."""

MODULES = sorted(path for path in PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every module `path` imports, and whether it is only imported inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node) for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        lazy = id(node) in inside
        if isinstance(node, ast.Import):
            yield from ((alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from ((f"{node.module}.{alias.name}", lazy) for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    here = HEIGHT[room(path)]
    for name, _ in imports(path):
        top, _, rest = name.partition(".")
        if top != "rigwise":
            continue
        there = rest.split(".")[0]
        target = HEIGHT.get(there, HEIGHT["__init__"])
        assert target <= here, f"{path.relative_to(PACKAGE)} is below {name}"
        if here <= HEIGHT["records"]:
            assert there == room(path) or target < here, f"{path.relative_to(PACKAGE)} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_some_rooms_touch_the_machine(path: Path) -> None:
    if str(path.relative_to(PACKAGE)) in CHILD_SCRIPTS:
        return
    for name, lazy in imports(path):
        top = name.split(".")[0]
        if top in MAY_IMPORT and room(path) not in MAY_IMPORT[top]:
            lazy_in_command = lazy and top == "torch" and room(path) == "cli"
            assert lazy_in_command, f"{path.relative_to(PACKAGE)} imports {top}"


def test_every_room_has_a_layer() -> None:
    rooms = {room(path) for path in MODULES}
    assert rooms <= set(HEIGHT), f"rooms without a layer: {rooms - set(HEIGHT)}"
