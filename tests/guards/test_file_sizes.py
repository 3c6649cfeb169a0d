"""Code stays small enough to be read, and tests are tests: nothing of ours is patched, and each can fail."""

import ast
import re
from collections.abc import Iterator

import pytest
from guards.own_files import MODULES, ROOT, TESTS, assert_none, short, tree

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
LATER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
FOLDERS = ("src", "tests", "scripts", "benchmarks", "docs")
WRITTEN_BY_US = (".py", ".c", ".md", ".j2", ".js", ".css", ".toml", "")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_files_are_short() -> None:
    lengths = {short(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert_none([f"{name} has {length} lines" for name, length in lengths.items() if length > MAX_FILE_LINES])


def test_functions_are_short() -> None:
    measured = [(path, one, num_lines(one)) for path in MODULES for one in functions(tree(path))]
    long = [entry for entry in measured if entry[2] > MAX_FUNCTION_LINES]
    assert_none([f"{short(path)}:{one.lineno} {one.name} has {length} lines" for path, one, length in long])


def test_nothing_is_left_for_later() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in WRITTEN_BY_US]
    written = [path for path in files if path.is_file() and "recordings" not in path.parts]
    assert len(written) > len(MODULES)
    assert_none([short(path) for path in written if LATER.search(path.read_text(encoding="utf-8"))])


def test_nothing_of_ours_is_patched() -> None:
    assert_none([f"{short(path)}:{line}" for path in TESTS for line in patched_lines(tree(path))])


def test_every_test_asserts() -> None:
    asserting = names_of_asserting([one for path in TESTS for one in functions(tree(path))])
    tests = [(path, one) for path in TESTS for one in functions(tree(path)) if one.name.startswith("test_")]
    assert_none([f"{short(path)}:{one.lineno} {one.name}" for path, one in tests if not can_fail(one, asserting)])


@pytest.mark.parametrize(
    "line",
    [
        "import unittest.mock",
        "from unittest.mock import patch",
        "monkeypatch.setattr(decide, 'SEVERITIES', ())",
        "monkeypatch.setattr('rigwise.decide.SEVERITIES', ())",
        "monkeypatch.setattr(rigwise.decide, 'SEVERITIES', ())",
        "monkeypatch.setitem(decide.TABLE, 1, 2)",
        "decide.SEVERITIES = ()",
        "mocker.patch('os.getcwd')",
    ],
)
def test_a_patch_is_seen(line: str) -> None:
    assert list(patched_lines(ast.parse(f"import rigwise.decide\nfrom rigwise import decide\n{line}\n"))) == [3]


@pytest.mark.parametrize(
    "line", ["monkeypatch.setattr(os, 'sep', '/')", "monkeypatch.setenv('RIGWISE_ROOT', '/')", "self.decide = decide"]
)
def test_what_is_not_ours_may_be_set(line: str) -> None:
    assert list(patched_lines(ast.parse(f"import os\nfrom rigwise import decide\n{line}\n"))) == []


@pytest.mark.parametrize("body", ["decide()", "assert True", "print('assert')", "result = decide()"])
def test_a_test_that_cannot_fail_is_seen(body: str) -> None:
    (function,) = functions(ast.parse(f"def test_it():\n    {body}\n"))
    assert not can_fail(function, set())


def functions(code: ast.Module) -> Iterator[Function]:
    """Every function and method of a module."""
    yield from (node for node in ast.walk(code) if isinstance(node, Function))


def num_lines(function: Function) -> int:
    """Lines from `def` to the last of the body."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def patched_lines(code: ast.Module) -> Iterator[int]:
    """Lines that import a mocking library, or set something inside a module or class of ours."""
    ours = {"rigwise", *names_imported_from_us(code)}
    for node in ast.walk(code):
        match node:
            case ast.Import(names=names) if any(re.match(r"(unittest\.)?mock\b", alias.name) for alias in names):
                yield node.lineno
            case ast.ImportFrom(module=str(module)) if re.match(r"(unittest\.)?mock\b", module):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=ast.Name(id="mocker"))):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=ast.Name(id="monkeypatch"), attr="setattr" | "setitem" | "delattr")):
                if root_name(node.args[0]) in ours:
                    yield node.lineno
            case ast.Assign(targets=[ast.Attribute() as target]) if root_name(target) in ours:
                yield node.lineno


def names_imported_from_us(code: ast.Module) -> Iterator[str]:
    """Names by which a module knows something of rigwise."""
    for node in ast.walk(code):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            for alias in node.names:
                if (module or alias.name).split(".")[0] == "rigwise":
                    yield alias.asname or alias.name.split(".")[0]


def root_name(node: ast.expr) -> str:
    """The name an expression starts from: `a` of `a.b.c`, or of the text "a.b.c"."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Constant):
        return str(node.value).split(".")[0]
    return node.id if isinstance(node, ast.Name) else ""


def names_of_asserting(known: list[Function]) -> set[str]:
    """Functions of the tests that assert something themselves, or call one that does."""
    found: set[str] = set()
    while more := {one.name for one in known if one.name not in found and can_fail(one, found)}:
        found |= more
    return found


def can_fail(function: Function, asserting: set[str]) -> bool:
    """Whether it asserts something not constant, expects an error, or calls one of `asserting`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else root_name(node.func)
            if name.startswith("assert_") or name in asserting | {"raises", "warns", "fail", "expect"}:
                return True
    return False
