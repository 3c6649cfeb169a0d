"""Reads a run folder back, whatever state the run left it in: finished, running, killed, or on a read-only disk.

Must not change the folder.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rigwise.errors import BadInput
from rigwise.records.run import RunRecord, Sample
from rigwise.speech import printable, say
from rigwise.telemetry.run_folder import Manifest, RunFolder
from rigwise.telemetry.schema import APPLICATION_ID, SCHEMA_VERSION, TABLE_OF, TABLES, R, column_names, from_rows

_NOT_KNOWN: dict[str, Any] = {
    "started_at": "",
    "finished": False,
    "rigwise_version": "",
    "rig_lines": (),
    "check": None,
    "pictures": None,
    "model": "",
    "weights": "",
    "recipe_toml": "",
}


def load_run(path: Path) -> RunRecord:
    """Everything a run left behind, as far as it came.

    Raises:
        BadInput: not a run folder, a damaged file, or one written by a newer rigwise.
    """
    folder = RunFolder(path)
    if not os.path.isfile(folder.database):  # Path.is_file would raise for a path that is too long
        raise BadInput(
            say("{path} is not the folder of a run", path=path),
            say("there is no {name} in it that can be read", name=folder.database.name),
            say("ls {parent}, then give one of the folders a run made", parent=path.absolute().parent),
        )
    known = _NOT_KNOWN | _manifest_fields(folder) | _recipe_field(folder)
    with open_database(folder.database) as connection:
        if _has_tables(connection):  # a run killed in its first moment has none yet
            known |= {table: _read(connection, record) for table, record in TABLES.items()} | _facts(connection)
        return msgspec.convert(known | {"name": printable(folder.name), "folder": printable(path)}, RunRecord)


def read_samples(database: Path, start_seconds: float, end_seconds: float) -> tuple[Sample, ...]:
    """The samples of one stretch of a run, both ends included."""
    with open_database(database) as connection:
        return _read(connection, Sample, "WHERE at BETWEEN ? AND ?", start_seconds, end_seconds)


@contextlib.contextmanager
def open_database(database: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection to a run's database.

    Raises:
        BadInput: damaged, not permitted, not ours, or written by a newer rigwise.
    """
    with contextlib.ExitStack() as open_until_done:
        try:
            connection = open_until_done.enter_context(_connect(database))
            _refuse_foreign(connection, database)
            yield connection
        except (sqlite3.DatabaseError, msgspec.MsgspecError, json.JSONDecodeError, OSError) as error:
            raise BadInput(
                say("cannot read {database}", database=database),
                str(error),
                say("sqlite3 {database} .recover shows what can be saved", database=database),
            ) from error


@contextlib.contextmanager
def _connect(database: Path) -> Iterator[sqlite3.Connection]:
    """A connection that leaves nothing behind in the folder.

    No write-ahead log: nobody is writing, and `immutable` needs no files beside the database. With a log, its writer
    lives or was killed; SQLite then needs run.sqlite-shm too, and where that cannot be had (a read-only disk) a copy
    is read.
    """
    log = database.with_name(database.name + "-wal")
    if not log.exists():
        with contextlib.closing(_open(database, "mode=ro&immutable=1")) as connection:
            yield connection
        return
    with tempfile.TemporaryDirectory(prefix="rigwise-") as copies, contextlib.ExitStack() as open_until_done:
        try:
            connection = _open(database, "mode=ro")
        except sqlite3.OperationalError:
            copy = Path(shutil.copy(database, copies))
            shutil.copy(log, copies)
            connection = _open(copy, "mode=rw")
        yield open_until_done.enter_context(contextlib.closing(connection))


def _open(database: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{database.absolute().as_uri()}?{mode}", uri=True)
    try:
        connection.execute("PRAGMA user_version")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _refuse_foreign(connection: sqlite3.Connection, database: Path) -> None:
    [(fault,)] = connection.execute("PRAGMA quick_check(1)")
    if fault != "ok":
        raise sqlite3.DatabaseError(fault)
    [(application,)] = connection.execute("PRAGMA application_id")
    [(version,)] = connection.execute("PRAGMA user_version")
    if application != APPLICATION_ID and _has_tables(connection):
        raise BadInput(
            say("{database} is not a database of rigwise", database=database),
            say("it is an SQLite database that another program made"),
            say("give a folder that rigwise made"),
        )
    if version > SCHEMA_VERSION:
        raise BadInput(
            say("{database} was written by a newer rigwise", database=database),
            say("its schema version is {version}; this rigwise knows {known}", version=version, known=SCHEMA_VERSION),
            say("pip install --upgrade rigwise"),
        )


def _read(connection: sqlite3.Connection, record: type[R], where: str = "", *values: float) -> tuple[R, ...]:
    """The records of one table, in the order they were written; an older rigwise may not know all fields."""
    table = TABLE_OF[record]
    there = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    columns = tuple(name for name in column_names(record) if name in there)
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM {table} {where} ORDER BY rowid", values)
    return from_rows(record, rows, columns)


def _facts(connection: sqlite3.Connection) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM facts")}


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone())


def _manifest_fields(folder: RunFolder) -> dict[str, str]:
    if not folder.manifest.exists():
        return {}
    try:
        manifest = msgspec.json.decode(folder.manifest.read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise _unreadable(folder.manifest, error) from error
    return {"started_at": manifest.started_at, "rigwise_version": manifest.rigwise_version}


def _recipe_field(folder: RunFolder) -> dict[str, str]:
    if not folder.recipe.exists():
        return {}
    try:
        return {"recipe_toml": folder.recipe.read_text(encoding="utf-8", errors="replace")}
    except OSError as error:
        raise _unreadable(folder.recipe, error) from error


def _unreadable(path: Path, error: OSError | msgspec.MsgspecError) -> BadInput:
    return BadInput(
        say("cannot read {path}", path=path),
        str(error),
        say("move it away and try again: a report can be built without it"),
    )
