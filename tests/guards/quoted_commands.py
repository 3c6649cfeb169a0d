"""What a page or a sentence quotes, and whether it exists: `rigwise` commands, `make` targets, files of ours."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer
from guards.own_files import ROOT

from rigwise.cli.main import app
from rigwise.knowledge.check_catalogue import check_catalogue

COMMAND = re.compile(r"(?:^\s*|\$ |sudo |-m |bin/|\w=\S* |: |, | or |\s\s|`|&& |\| )rigwise(?=[\s`]|$)")
END = re.compile(r"\s\s| #| && | \| |[;`]|, |\. | (?:and|or) |$")
"""Two blanks too: what follows them, in a list of commands, is an explanation."""
TARGETS = re.compile(r"(?:^\s*|\$ |&& )make((?: [\w.=-]+)+)")
OUR_FILE = re.compile(r"(?:^|\s)((?:\.ci|benchmarks|docs|scripts|src|tests)/[\w./-]*\w)")


def quoted_lines(page: str) -> Iterator[str]:
    """Every code span and every line of a code block of a Markdown page."""
    parts = re.split(r"^ *```.*$", page, flags=re.MULTILINE)
    for prose in parts[::2]:
        yield from (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose))
    for block in parts[1::2]:
        yield from re.sub(r"\\\n\s*", "", block).splitlines()


def rigwise_commands(line: str) -> Iterator[str]:
    """The arguments of every `rigwise` command in a line.

    >>> list(rigwise_commands("next:  sudo rigwise check --only gpu_lost   # as root"))
    ['check --only gpu_lost']
    >>> list(rigwise_commands("rigwise train DATA, or try the embedded pictures: rigwise demo"))
    ['train DATA', 'demo']
    """
    for found in COMMAND.finditer(line):
        rest = line[found.end() :]
        end = END.search(rest)
        yield rest[: end.start() if end else None].strip()


def fault(arguments: str) -> str:
    """What the real parser has against the arguments of a quoted command; nothing runs. Empty when it takes them.

    Arguments may be left out, as in prose, and optional ones may stand in brackets.
    """
    words = [word for word in shlex.split(re.sub(r"[][<>]|\.\.\.|…", " ", arguments)) if word != "--help"]
    group = all_commands()
    name = next((word for word in words if not word.startswith("-")), None)
    own_options = words[: words.index(name)] if name else words
    if name is not None and name not in group.commands:
        return f"there is no command {name}"
    try:
        group.make_context("rigwise", own_options)
        options = group.commands[name].make_context(name, words[len(own_options) + 1 :]).params if name else {}
    except Exception as error:
        return "" if type(error).__name__ == "MissingParameter" else f"{type(error).__name__}: {error}"
    if options.get("paths") and not options.get("sources"):
        return f"without --from: {' '.join(options['paths'])}"
    strangers = [one for one in options.get("only", ()) if re.match("[a-z]", one) and one not in check_catalogue()]
    return f"there is no check {', '.join(strangers)}" if strangers else ""


@cache
def all_commands() -> Any:
    """The `rigwise` command with its sub-commands, as its parser knows them."""
    return typer.main.get_command(app)


def make_targets(line: str) -> Iterator[str]:
    """Every target of a quoted `make`.

    >>> list(make_targets("make setup test VENV=/tmp/v"))
    ['setup', 'test']
    """
    for words in TARGETS.findall(line):
        yield from (word for word in words.split() if word[0].isalpha() and "=" not in word)


def missing_files(line: str) -> Iterator[str]:
    """Every quoted path of the repository that does not exist; NAME stands for any name."""
    yield from (path for path in OUR_FILE.findall(line) if "NAME" not in path and not (ROOT / path).exists())
