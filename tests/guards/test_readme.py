"""What the pages for people say is true: every command, make target, file, link and picture exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from guards.own_files import MODULES, ROOT, assert_none, short, tree
from guards.quoted_commands import fault, make_targets, missing_files, quoted_lines, rigwise_commands

from rigwise.knowledge.check_catalogue import check_catalogue

PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "tests").glob("*/README.md")),
)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
LINK = re.compile(r"""!?\[[^]]*\]\(\s*<?([^)\s>]+)|(?:src|srcset|href)=["']([^"'\s]+)""")
ABOUT_US = re.compile(r"rigwise (itself|trains|sampler|run writer|VALUE)\b")
"""Sentences in which rigwise is the subject, names of threads, the version: no commands."""
each_page = pytest.mark.parametrize("page", PAGES, ids=short)


@each_page
def test_every_quoted_command_exists(page: Path) -> None:
    assert_none(command_faults(quoted_lines(page.read_text(encoding="utf-8"))))


@each_page
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^(\w+):", MAKEFILE, re.MULTILINE))
    lines = quoted_lines(page.read_text(encoding="utf-8"))
    assert_none([f"make {one}" for line in lines for one in make_targets(line) if one not in targets])


@each_page
def test_every_quoted_file_exists(page: Path) -> None:
    lines = quoted_lines(page.read_text(encoding="utf-8"))
    assert_none([path for line in lines for path in missing_files(line)])


@each_page
def test_every_link_and_picture_exists(page: Path) -> None:
    assert_none(broken_links(page))


def test_every_next_step_that_a_sentence_names_exists() -> None:
    spoken = [sentence for path in MODULES for sentence in texts(tree(path)) if not ABOUT_US.match(sentence)]
    steps = [step for row in check_catalogue().values() for step in (row.action, *row.next_steps)]
    assert len(spoken) > 1
    assert_none(command_faults([*spoken, *steps]))


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("rigwise chuck", "chuck"),
        ("$ sudo .venv/bin/rigwise check --jsom   # as root", "--jsom"),
        ("rigwise --verbose check", "--verbose"),
        ("rigwise check surplus", "surplus"),
        ("rigwise demo --seed one", "one"),
        ("next:  rigwise check --only gpu_losst", "gpu_losst"),
        ("make it so && rigwise explian hot_gpu", "explian"),
    ],
)
def test_a_wrong_command_is_found(line: str, word: str) -> None:
    page = f"Before.\n\n```sh\n{line}\n```\n"
    (found,) = command_faults(quoted_lines(page))
    assert word in found
    assert command_faults(quoted_lines(f"In a sentence, `{line}` too.")) == [found]


@pytest.mark.parametrize(
    "line",
    [
        "rigwise",
        "rigwise check --from PATH|-",
        "rigwise train DATA [--recipe FILE] [--out RUN]",
        "nvidia-smi -q | rigwise check --from - --json | jq .decision",
        "rigwise report",
        "pip install rigwise",
    ],
)
def test_a_right_command_is_left_alone(line: str) -> None:
    assert command_faults([line]) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Some head\n[a](#some-head) [b](#other) [c](page.md#some-head) ![d](no.png) <img src='no.svg'>\n")
    assert broken_links(page) == ["#other", "no.png", "no.svg"]


def command_faults(lines: Iterator[str] | list[str]) -> list[str]:
    """Each quoted command that the parser refuses, with its reason."""
    commands = dict.fromkeys(command for line in lines for command in rigwise_commands(line))
    return [f"rigwise {command}: {why}" for command in commands if (why := fault(command))]


def broken_links(page: Path) -> list[str]:
    """Every relative link of a page that leads nowhere."""
    links = ["".join(found) for found in LINK.findall(page.read_text(encoding="utf-8"))]
    return [link for link in links if not re.match(r"[a-z]+:", link) and not leads_somewhere(page, link)]


def leads_somewhere(page: Path, link: str) -> bool:
    """Whether a relative link has its file, and the file its heading."""
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    return target.exists() and (not anchor or anchor in headings(target))


def headings(page: Path) -> set[str]:
    """The anchors GitHub gives a page's headings."""
    words = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in words}


def texts(code: ast.Module) -> Iterator[str]:
    """The texts of a module that name rigwise, without its docstrings; VALUE where one is filled in."""
    nodes = list(ast.walk(code))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) not in parts | docstrings and "rigwise " in (text := text_of(node)):
            yield text


def text_of(node: ast.AST) -> str:
    """The text of a constant or an f-string, empty for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) or "VALUE" for part in parts)
    return ""
