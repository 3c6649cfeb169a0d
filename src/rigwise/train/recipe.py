"""The recipe: everything that decides how an experiment runs, as one TOML file with typed sections.

A recipe is read, filled with defaults, checked, and written back whole into the run folder, so that
`rigwise train --from RUN` repeats it. Unknown keys are refused with the nearest valid one, and all faults are
reported at once.
"""

import difflib
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.recipe_sections import SECTIONS, Recipe

MAX_RECIPE_BYTES = 2**20
"""A recipe has some 500 bytes; whatever is larger was named by mistake."""


def read_recipe(path: Path) -> Recipe:
    """The recipe in a TOML file, with defaults for what it leaves out.

    Raises:
        BadInput: the file cannot be read or parsed, or names unknown keys or bad values (all at once).
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_RECIPE_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, say("it is no text in UTF-8")) from error
    if len(content) > MAX_RECIPE_BYTES:
        raise _unreadable(path, say("it is larger than {limit} MiB", limit=MAX_RECIPE_BYTES // 2**20))
    return parse_recipe(text, name=str(path))


def parse_recipe(text: str, name: str) -> Recipe:
    """The recipe in a TOML text; `name` is where it came from, for the error.

    Raises:
        BadInput: with every fault the text has.
    """
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # RecursionError: brackets within brackets
        raise _unreadable(Path(name), say("it is not valid TOML: {error}", error=error)) from error
    faults: list[str] = []
    sections = {section: _section(section, tables.get(section, {}), faults) for section in SECTIONS}
    faults += [_unknown(key, "", list(SECTIONS)) for key in tables if key not in SECTIONS]
    faults += Recipe(**sections).faults()
    if faults:
        raise BadInput(
            say("recipe {name} has {count} fault(s)", name=name, count=len(faults)),
            "\n".join(faults),
            say("correct the lines named above, then run the same command again"),
        )
    return Recipe(**sections)


def _section(name: str, table: Any, faults: list[str]) -> Any:
    kind = SECTIONS[name]
    if not isinstance(table, dict):
        faults.append(say("[{name}] must be a table, not {value}", name=name, value=repr(table)))
        return kind()
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in fields:
            faults.append(_unknown(key, f"{name}.", list(fields)))
            continue
        try:
            values[key] = msgspec.convert(value, fields[key].type)
        except msgspec.ValidationError as error:
            faults.append(f"{name}.{key} = {value!r}: {error}")
    section = kind(**values)
    faults += [f"{name}.{fault}" for fault in section.faults()]
    return section


def _unknown(key: str, prefix: str, valid: list[str]) -> str:
    near = difflib.get_close_matches(key, valid, n=1, cutoff=0.4)
    if near:
        return say("{key}: unknown key; did you mean {near}?", key=prefix + key, near=prefix + near[0])
    return say("{key}: unknown key; valid keys are {valid}", key=prefix + key, valid=", ".join(valid))


def _unreadable(path: Path, why: str) -> BadInput:
    return BadInput(
        say("cannot read recipe {path}", path=path),
        why,
        say("give a TOML file, such as the recipe.toml of an earlier run"),
    )


def write_recipe(recipe: Recipe) -> str:
    """The whole recipe as TOML text, defaults included; `parse_recipe` reads it back equal."""
    lines = ["# Repeats this run: rigwise train DATA --recipe recipe.toml", ""]
    for name in SECTIONS:
        lines.append(f"[{name}]")
        section = getattr(recipe, name)
        lines += [f"{field} = {_toml(getattr(section, field))}" for field in section.__struct_fields__]
        lines.append("")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    # JSON strings, numbers, booleans and flat lists are valid TOML as they stand.
    return msgspec.json.encode(value).decode() if not isinstance(value, float) else repr(value)
