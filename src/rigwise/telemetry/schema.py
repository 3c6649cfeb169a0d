"""The tables of run.sqlite: one per record type, one column per field, made from the records themselves.

What comes in numbers has a table of its own, and every field of it is a number or a text. What a run has once
(model, check report, pictures, confusion matrix ...) is a row of `facts`: the field of `RunRecord` it fills, and JSON.
Must not open a database.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, TypeVar, get_args

import msgspec

from rigwise.records.run import Event, Prediction, RankFigures, Sample, Step, TrialResult, Validation

SCHEMA_VERSION = 1
"""Kept in `PRAGMA user_version`; a reader refuses a larger one."""
APPLICATION_ID = 0x52494757
"""`RIGW` in ASCII, kept in `PRAGMA application_id`: tells our databases from anyone else's."""

Record = TrialResult | RankFigures | Step | Validation | Sample | Event | Prediction
R = TypeVar("R", bound=msgspec.Struct)
TABLES: dict[str, type[msgspec.Struct]] = {
    "trials": TrialResult,
    "ranks": RankFigures,
    "steps": Step,
    "validations": Validation,
    "samples": Sample,
    "events": Event,
    "predictions": Prediction,
}
TABLE_OF: dict[type[msgspec.Struct], str] = {record: table for table, record in TABLES.items()}

_COLUMN_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL"}
_FINDINGS_VIEW = """
CREATE VIEW findings AS
SELECT json_extract(item.value, '$.check') AS "check",
       json_extract(item.value, '$.target') AS target,
       json_extract(item.value, '$.verdict') AS verdict,
       json_extract(item.value, '$.severity') AS severity,
       json_extract(item.value, '$.because') AS because
FROM facts, json_each(facts.value, '$.findings') AS item WHERE facts.key = 'check'
"""


def column_names(record: type[msgspec.Struct]) -> tuple[str, ...]:
    """The columns of a record's table, in order."""
    return tuple(field.name for field in msgspec.structs.fields(record))


def create_statements() -> list[str]:
    """The statements that make an empty database ours."""
    tables = [f"CREATE TABLE {table} ({_columns(record)})" for table, record in TABLES.items()]
    return [
        *tables,
        "CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        _FINDINGS_VIEW,
        f"PRAGMA application_id = {APPLICATION_ID}",
        f"PRAGMA user_version = {SCHEMA_VERSION}",
    ]


def insert_statement(record: type[msgspec.Struct]) -> str:
    """The statement that adds one record to its table."""
    columns = column_names(record)
    return f"INSERT INTO {TABLE_OF[record]} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def to_row(record: msgspec.Struct) -> tuple[Any, ...]:
    r"""A record as SQLite stores it. File names in odd encodings are escaped, because SQLite holds UTF-8 only.

    >>> to_row(Event(at=1.5, kind="skipped", text="bag\udce9.jpg"))
    (1.5, 'skipped', 'bag\\udce9.jpg')
    """
    return tuple(_printable(value) if type(value) is str else value for value in msgspec.structs.astuple(record))


def from_rows(
    record: type[R], rows: Iterable[tuple[Any, ...]], columns: tuple[str, ...] | None = None
) -> tuple[R, ...]:
    """The records that rows of these columns (all, if not given) hold; other fields have their defaults.

    SQLite keeps NaN as NULL, so NULL where a number must be is NaN again.

    >>> row = to_row(Step(trial="fp32", step=9, at=1.0, step_seconds=0.1, data_seconds=0.0, loss=math.nan))
    >>> from_rows(Step, [(*row[:-1], None)])[0].loss
    nan
    """
    names = columns or column_names(record)
    fields = [field for field in msgspec.structs.fields(record) if field.name in names]
    replacements = [math.nan if field.type is float else None for field in fields]
    whole = (_replace_null(row, replacements) if None in row else row for row in rows)
    known = [dict(zip(names, row, strict=True)) for row in whole]
    return msgspec.convert(known, tuple[record, ...])  # type: ignore[valid-type]  # mypy knows no types made at run time


def to_json(fact: object) -> str:
    """A fact as JSON text. Python's own encoder, since NaN and odd file names must survive it."""
    return json.dumps(msgspec.to_builtins(fact))


def _columns(record: type[msgspec.Struct]) -> str:
    return ", ".join(f"{field.name} {_column_type(field)}" for field in msgspec.structs.fields(record))


def _column_type(field: msgspec.structs.FieldInfo) -> str:
    kinds = [kind for kind in get_args(field.type) or (field.type,) if kind is not type(None)]
    return _COLUMN_TYPES[kinds[0]]


def _replace_null(row: tuple[Any, ...], replacements: list[Any]) -> tuple[Any, ...]:
    return tuple(new if old is None else old for old, new in zip(row, replacements, strict=True))


def _printable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
