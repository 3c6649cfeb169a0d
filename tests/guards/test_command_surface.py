"""Commands and their options are a promise: they change on purpose, in a change that shows it.

python tests/guards/test_command_surface.py    accepts the present commands
"""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from rigwise.cli.main import app

PROMISED = Path(__file__).with_name("command_surface.txt")


def surface() -> str:
    """Every command with its arguments and options, one a line; not the wording of their help."""
    group: Any = typer.main.get_command(app)
    commands = {"rigwise": group} | {f"rigwise {name}": one for name, one in sorted(group.commands.items())}
    return "\n".join("\n".join([name, *promises(command)]) for name, command in commands.items()) + "\n"


def promises(command: Any) -> Iterator[str]:
    """One parameter a line: its spellings, what it takes, how often, and its default."""
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        spellings = [*parameter.opts, *parameter.secondary_opts] if is_option else []
        takes = [] if is_option and parameter.is_flag else [parameter.metavar or "VALUE"]
        notes = ["required"] * parameter.required + ["repeatable"] * parameter.multiple
        if takes and parameter.default not in (None, ""):
            notes.append(f"default {parameter.default}")
        yield "  " + " ".join([*spellings, *takes]) + "".join(f", {note}" for note in notes)


def test_the_commands_are_the_promised_ones() -> None:
    promised, present = PROMISED.read_text(encoding="utf-8"), surface()
    changes = difflib.unified_diff(promised.splitlines(), present.splitlines(), "promised", "present", lineterm="")
    assert present == promised, (
        "the commands changed:\n"
        + "\n".join(changes)
        + "\nif that is meant: python tests/guards/test_command_surface.py"
    )


if __name__ == "__main__":
    PROMISED.write_text(surface(), encoding="utf-8")
