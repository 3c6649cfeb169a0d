"""What cannot be read is refused in words; what can, is read without touching the folder."""

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rigwise.errors import BadInput
from rigwise.records.run import Step
from rigwise.telemetry.reading import load_run
from rigwise.telemetry.run_folder import Manifest, RunFolder, create_run_folder, write_text
from rigwise.telemetry.schema import SCHEMA_VERSION
from rigwise.telemetry.writer import RunWriter


def finished_run(path: Path, num_steps: int = 3) -> RunFolder:
    folder = create_run_folder(path)
    with RunWriter(folder.database) as writer:
        for number in range(num_steps):
            writer.record(
                Step(trial="fp32", step=number, at=1.0, step_seconds=0.1, data_seconds=0.0, loss=1.0 / (number + 1))
            )
    return folder


def test_manifest_and_recipe_are_part_of_the_run(tmp_path: Path) -> None:
    folder = finished_run(tmp_path / "2026-11-30-1")
    folder.write_manifest(Manifest(kind="train", started_at="2026-11-30T09:00:00Z", rigwise_version="0.1.0"))
    write_text(folder.recipe, "[training]\nsteps = 200\n")
    run = load_run(folder.path)
    assert (run.name, run.started_at, run.rigwise_version) == ("2026-11-30-1", "2026-11-30T09:00:00Z", "0.1.0")
    assert run.recipe_toml == "[training]\nsteps = 200\n"


def test_a_folder_without_manifest_is_still_a_run(tmp_path: Path) -> None:
    run = load_run(finished_run(tmp_path / "run").path)
    assert run.started_at == ""
    assert len(run.steps) == 3


def test_reading_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    folder = finished_run(tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in folder.path.iterdir()}
    load_run(folder.path)
    assert {path: path.stat().st_mtime_ns for path in folder.path.iterdir()} == before


def test_odd_names_are_paths_too(tmp_path: Path) -> None:
    folder = finished_run(tmp_path / "a ?#%20 ☃ b")
    assert load_run(folder.path).name == "a ?#%20 ☃ b"


def test_a_folder_name_given_with_dots_is_resolved(tmp_path: Path) -> None:
    folder = finished_run(tmp_path / "run")
    assert load_run(folder.path / "evidence" / "..").name == "run"


def missing(path: Path) -> None:
    """Nothing there."""


def empty_folder(path: Path) -> None:
    path.mkdir()


def file_instead_of_folder(path: Path) -> None:
    path.touch()


def database_is_a_folder(path: Path) -> None:
    (path / "run.sqlite").mkdir(parents=True)


@pytest.mark.parametrize("make", [missing, empty_folder, file_instead_of_folder, database_is_a_folder])
def test_what_is_no_run_folder_is_named(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "run")
    with pytest.raises(BadInput) as caught:
        load_run(tmp_path / "run")
    assert str(tmp_path / "run") in caught.value.what
    assert "run.sqlite" in caught.value.why


def text_instead(database: Path) -> None:
    database.write_text("not a database at all\n" * 100)


def truncated(database: Path) -> None:
    database.write_bytes(database.read_bytes()[:-5000])


def overwritten_page(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    database.write_bytes(content)


def page_with_a_row_less(database: Path) -> None:
    """A leaf of a table (type 13) that counts one row less than it holds: SQLite reads on as if nothing were wrong."""
    content = bytearray(database.read_bytes())
    leaf = next(at for at in range(4096, len(content), 4096) if content[at] == 13 and content[at + 4] > 10)
    content[leaf + 4] -= 1
    database.write_bytes(content)


@pytest.mark.parametrize("damage", [text_instead, truncated, overwritten_page, page_with_a_row_less])
def test_a_damaged_database_is_named(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = finished_run(tmp_path / "run", num_steps=2000)
    damage(folder.database)
    with pytest.raises(BadInput) as caught:
        load_run(folder.path)
    assert caught.value.what == f"cannot read {folder.database}"


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("facts", "value", "{"), ("facts", "value", '"yes"'), ("steps", "step", "many"), ("steps", "trial", None)],
)
def test_a_value_of_the_wrong_kind_is_named(tmp_path: Path, table: str, column: str, value: str | None) -> None:
    folder = finished_run(tmp_path / "run")
    with contextlib.closing(sqlite3.connect(folder.database)) as connection, connection:
        connection.execute("INSERT INTO facts VALUES ('finished', 'true')")
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
    with pytest.raises(BadInput) as caught:
        load_run(folder.path)
    assert caught.value.what == f"cannot read {folder.database}"


def test_a_path_longer_than_any_folder_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not the folder of a run"):
        load_run(tmp_path / ("x" * 300))


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "run.sqlite")
    connection.execute("CREATE TABLE steps (a)")
    connection.close()
    with pytest.raises(BadInput, match="not a database of rigwise"):
        load_run(tmp_path)


def test_a_newer_schema_is_refused_with_its_version(tmp_path: Path) -> None:
    folder = finished_run(tmp_path / "run")
    connection = sqlite3.connect(folder.database)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(BadInput, match="newer rigwise") as caught:
        load_run(folder.path)
    assert str(SCHEMA_VERSION + 1) in caught.value.why


@pytest.mark.parametrize("text", ["", "{", '{"kind": 3}'])
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    folder = finished_run(tmp_path / "run")
    folder.manifest.write_text(text)
    with pytest.raises(BadInput, match=r"manifest\.json"):
        load_run(folder.path)


def test_a_run_killed_and_copied_elsewhere_is_read_whole(tmp_path: Path) -> None:
    """The copy holds the write-ahead log, but not the shared memory file that belongs to the dead process."""
    folder = create_run_folder(tmp_path / "run")
    writer = RunWriter(folder.database)
    writer.record(Step(trial="fp32", step=1, at=1.0, step_seconds=0.1, data_seconds=0.0, loss=1.0))
    writer.flush()
    shutil.copytree(folder.path, tmp_path / "copy", ignore=shutil.ignore_patterns("*-shm"))
    writer.close()
    assert len(load_run(tmp_path / "copy").steps) == 1
