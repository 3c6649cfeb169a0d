"""Every sentence for people is a literal given to `say`, so that a catalogue can be made of them."""

import ast
import string
from pathlib import Path

import pytest

import rigwise
from rigwise.speech import say

PACKAGE = Path(rigwise.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
ERRORS = {"BadInput", "CannotWrite", "CannotTell", "RigwiseError"}


def calls(path: Path) -> list[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_say_takes_a_literal_whose_fields_are_given(path: Path) -> None:
    for call in calls(path):
        if not (isinstance(call.func, ast.Name) and call.func.id == "say"):
            continue
        where = f"{path.relative_to(PACKAGE)}:{call.lineno}"
        sentence = call.args[0]
        if path.name == "check_catalogue.py" and not isinstance(sentence, ast.Constant):
            continue  # the rows of checks.toml are sentences of their own
        assert isinstance(sentence, ast.Constant), f"{where}: not a literal"
        assert isinstance(sentence.value, str), f"{where}: not a text"
        given = {keyword.arg for keyword in call.keywords}
        if None in given:
            continue
        fields = (
            {name.split(".")[0] for _, name, _, _ in string.Formatter().parse(sentence.value) if name}
            if given
            else set()
        )
        assert fields == given, f"{where}: {sentence.value!r} is given {given}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_errors_never_hold_bare_literals(path: Path) -> None:
    for call in calls(path):
        if isinstance(call.func, ast.Name) and call.func.id in ERRORS:
            for argument in call.args:
                assert not isinstance(argument, ast.Constant | ast.JoinedStr), (
                    f"{path.relative_to(PACKAGE)}:{argument.lineno}: an error sentence outside say()"
                )


def test_say_fills_in_names() -> None:
    assert say("GPU {index} is lost", index=1) == "GPU 1 is lost"


def test_say_leaves_braces_of_values_alone() -> None:
    assert say("{path}: missing", path="a{b}.jpg") == "a{b}.jpg: missing"
