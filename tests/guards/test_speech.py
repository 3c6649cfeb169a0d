"""Every sentence for people is a literal given to `say`, so that a catalogue can be made of them."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from extract_messages import PACKAGE, Said, said
from guards.own_files import MODULES, assert_none, short, tree
from jinja2 import Environment, nodes

from rigwise.speech import say

FILLED_IN_BY_THE_PAGE = (PACKAGE / "report" / "html.py", PACKAGE / "report" / "audit_page.py")
"""Hand sentences to review.js, which fills them in."""
TABLES = "knowledge"
"""What the rows of the tables say are sentences of their own."""
TEMPLATES = tuple(sorted(PACKAGE.rglob("*.j2")))
OUR_NAME = "rigwise"
WORD = re.compile("[A-Za-z]{2,}")
SPOKEN_ATTRIBUTES = re.compile(r'\b(?:alt|aria-label|placeholder|title)="([^"]*)"')


def test_say_takes_a_literal_whose_fields_are_given() -> None:
    calls = list(said())
    assert {one.path.suffix for one in calls} == {".py", ".j2"}
    assert_none([f"{short(one.path)}:{one.line} {why}" for one in calls if (why := wrong_with(one))])


def test_errors_hold_no_sentence_outside_say() -> None:
    families = error_classes()
    assert "BadInput" in families
    errors = [
        (path, node)
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in families
    ]
    assert errors
    assert_none([f"{short(path)}:{bare.lineno} {bare.value!r}" for path, call in errors for bare in unsaid(call)])


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_pages_hold_no_sentence_outside_say(template: Path) -> None:
    assert_none(unsaid_in_page(template.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "page", ["<p>Look here</p>", '<a title="Look here">{{ say("x") }}</a>', "<b>{{ n }} GiB of VRAM</b>"]
)
def test_a_sentence_outside_say_is_seen(page: str) -> None:
    assert unsaid_in_page(page)


def test_only_the_name_of_the_program_may_stand_unsaid() -> None:
    assert unsaid_in_page("<title>{{ name }} · rigwise</title><script>let it = be;</script>") == []


@pytest.mark.parametrize(
    "code", ['BadInput("no")', 'BadInput(say("a"), f"no {x}")', 'BadInput(why="no")', 'BadInput(", ".join(x) or "no")']
)
def test_an_error_outside_say_is_seen(code: str) -> None:
    assert [str(bare.value).strip() for bare in unsaid(ast.parse(code))] == ["no"]


def test_say_fills_in_names() -> None:
    assert say("GPU {index} is lost", index=1) == "GPU 1 is lost"


def test_say_leaves_braces_of_values_alone() -> None:
    assert say("{path}: missing", path="a{b}.jpg") == "a{b}.jpg: missing"


def wrong_with(call: Said) -> str:
    """Why a translator could not work with this call; empty when one could."""
    if not isinstance(call.sentence, str):
        return "" if call.path.parent.name == TABLES else "say() takes a literal"
    fields = {name.split(".")[0] for _, name, _, _ in string.Formatter().parse(call.sentence) if name is not None}
    later = not call.fields and call.path in FILLED_IN_BY_THE_PAGE
    if None in call.fields or later or fields == call.fields:
        return ""
    return f"{call.sentence!r} is given {sorted(map(str, call.fields))}"


def error_classes() -> set[str]:
    """The names of RigwiseError and everything derived from it."""
    classes = [node for path in MODULES for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
    family = {"RigwiseError"}
    while more := {one.name for one in classes if family & {getattr(base, "id", "") for base in one.bases}} - family:
        family |= more
    return family


def unsaid(node: ast.AST) -> Iterator[ast.Constant]:
    """Every constant with a word in it that is not inside say()."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "say":
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and WORD.search(node.value):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from unsaid(child)


def unsaid_in_page(source: str) -> list[str]:
    """Words of a template that a reader would see or hear and that do not come from an expression."""
    outputs = Environment().parse(source).find_all(nodes.Output)
    markup = "".join(
        piece.data if isinstance(piece, nodes.TemplateData) else " " for each in outputs for piece in each.nodes
    )
    spoken = " ".join(SPOKEN_ATTRIBUTES.findall(markup))
    visible = re.sub(r"<[^>]*>", " ", re.sub(r"<(script|style)\b.*?</\1>", " ", markup, flags=re.DOTALL))
    return [word for word in WORD.findall(f"{spoken} {visible}") if word != OUR_NAME]
