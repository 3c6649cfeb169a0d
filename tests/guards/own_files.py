"""The repository's own files, as the guards read them."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "rigwise"
MODULES = tuple(sorted(PACKAGE.rglob("*.py")))
TESTS = tuple(sorted((ROOT / "tests").rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    """The file as Python sees it."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def short(path: Path) -> str:
    """The path as people write it, from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def assert_none(faults: list[str]) -> None:
    """Nothing was found; all of it is shown when something was."""
    assert not faults, "\n".join(faults)
