"""Writes run.sqlite while a run goes on, without making the run wait.

`record` only appends to a deque; a thread moves what has gathered into the database in one transaction every half
second, so a kill -9 loses less than one second. In WAL mode with `synchronous=NORMAL` a commit is in the kernel's page
cache when it returns: it survives the death of the process, costs no fsync beside the training, and after a power cut
the database is still whole, though its last commits may be missing.
"""

import contextlib
import sqlite3
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rigwise.errors import CannotWrite
from rigwise.records.run import Event
from rigwise.speech import say
from rigwise.telemetry.schema import (
    TABLES,
    Record,
    column_names,
    create_statements,
    insert_statement,
    to_json,
    to_row,
)

FLUSH_SECONDS = 0.5
"""Between two transactions: half of the second a killed run may lose, the other half for the transaction."""
LOCK_SECONDS = 60.0
"""How long the thread waits while someone else locks the database, say in a browser for SQLite files."""

_INSERT = {record: insert_statement(record) for record in TABLES.values()}
_UPSERT_FACT = "INSERT INTO facts VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"


class RunWriter:
    """The one writer of a run's database. Use as a context manager; safe to call from several threads.

    With `continues` the database of an interrupted run is written on: its records stay, and its time goes on from the
    last of them.

    Raises:
        CannotWrite: at creation, or at the first call after the thread met a full disk or a read-only one. What was
            committed before stays readable.
    """

    def __init__(self, database: Path, *, continues: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._pending: deque[Record | tuple[str, str]] = deque()
        self._failure: Exception | None = None
        self._flushing = threading.Lock()
        self._closing = threading.Event()
        try:
            self._connection = _open(database, must_be_new=not continues)
            self._began = clock() - _last_moment(self._connection)
        except sqlite3.Error as error:
            raise _cannot_write(database, error) from error
        self._thread = threading.Thread(target=self._flush_repeatedly, name="rigwise run writer", daemon=True)
        self._thread.start()

    def elapsed(self) -> float:
        """Seconds since the run began: the `at` of every record."""
        return self._clock() - self._began

    def record(self, record: Record) -> None:
        """Keep one step, sample, trial result ... Returns in about a microsecond."""
        if self._failure is not None:
            raise self._failure
        self._pending.append(record)

    def event(self, kind: str, text: str) -> None:
        """Keep something that happened now."""
        self.record(Event(at=self.elapsed(), kind=kind, text=text))

    def fact(self, key: str, value: object) -> None:
        """Keep or replace what the run has once; `key` is the field of `RunRecord` it fills."""
        if self._failure is not None:
            raise self._failure
        self._pending.append((key, to_json(value)))

    def flush(self) -> None:
        """Commit everything recorded so far; afterwards a reader sees it."""
        self._commit_pending()
        if self._failure is not None:
            raise self._failure

    def settle(self) -> None:
        """Commit everything recorded so far and bring it to the disk: afterwards a power cut takes none of it."""
        self.flush()
        with self._flushing, self._told_in_words():
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # syncs the log, then the database

    def forget_steps(self, trial: str, after: int) -> None:
        """Take back the steps and validations of a trial after step number `after`: they will be taken again."""
        self.flush()
        with self._flushing, self._told_in_words(), _transaction(self._connection) as connection:
            for table in ("steps", "validations"):
                connection.execute(f"DELETE FROM {table} WHERE trial = ? AND step > ?", (trial, after))

    def forget_predictions(self) -> None:
        """Take back the predictions: they will be made again."""
        self.flush()
        with self._flushing, self._told_in_words(), _transaction(self._connection) as connection:
            connection.execute("DELETE FROM predictions")

    def close(self) -> None:
        """Commit what is left and close. Safe to call again."""
        self._closing.set()
        self._thread.join()
        try:
            self.flush()
        finally:
            with contextlib.suppress(sqlite3.Error):  # a full disk also stops the checkpoint; the WAL keeps the rows
                self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextlib.contextmanager
    def _told_in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _cannot_write(self._database, error) from error

    def _flush_repeatedly(self) -> None:
        while self._failure is None and not self._closing.wait(FLUSH_SECONDS):
            self._commit_pending()

    def _commit_pending(self) -> None:
        with self._flushing:
            if not self._pending or self._failure is not None:
                return
            gathered = [self._pending.popleft() for _ in range(len(self._pending))]
            try:
                with _transaction(self._connection) as connection:
                    _insert(connection, gathered)
            except sqlite3.OperationalError as error:
                self._failure = _cannot_write(self._database, error)
            except Exception as error:  # a record SQLite cannot hold: a defect of the caller, raised as it is
                self._failure = error


def _open(database: Path, *, must_be_new: bool) -> sqlite3.Connection:
    """A connection to a database with our tables; one that was killed in its first moment has none yet."""
    connection = sqlite3.connect(database, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        [(has_tables,)] = connection.execute("SELECT COUNT(*) FROM sqlite_master")
        with _transaction(connection):
            for statement in create_statements() if must_be_new or not has_tables else ():
                connection.execute(statement)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _last_moment(connection: sqlite3.Connection) -> float:
    """Seconds from the beginning of the run to its last record; 0 where there is none."""
    timed = [table for table, record in TABLES.items() if "at" in column_names(record)]
    latest = " UNION ALL ".join(f"SELECT MAX(at) AS at FROM {table}" for table in timed)
    [(seconds,)] = connection.execute(f"SELECT MAX(at) FROM ({latest})")
    return seconds or 0.0


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk makes SQLite roll back by itself
            connection.execute("ROLLBACK")
        raise


def _insert(connection: sqlite3.Connection, gathered: list[Record | tuple[str, str]]) -> None:
    rows: dict[type[Record], list[tuple[Any, ...]]] = defaultdict(list)
    for item in gathered:
        if isinstance(item, tuple):
            connection.execute(_UPSERT_FACT, item)
        else:
            rows[type(item)].append(to_row(item))
    for record, record_rows in rows.items():
        connection.executemany(_INSERT[record], record_rows)


def _cannot_write(database: Path, error: sqlite3.Error) -> CannotWrite:
    return CannotWrite(
        say("cannot write {database}", database=database),
        say("SQLite says: {error}; what was recorded before is still readable", error=error),
        say("df -h {folder}, make room or choose another folder with --out, then start again", folder=database.parent),
    )
