"""Run folders: named by the day, never overwritten, refused in words."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from rigwise.errors import BadInput, CannotWrite, RigwiseError
from rigwise.telemetry.run_folder import Manifest, create_run_folder, default_run_folder, write_text

TODAY = date(2026, 11, 30)


def test_runs_of_a_day_are_numbered(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        path = default_run_folder(TODAY, tmp_path / "runs")
        create_run_folder(path)
        names.append(path.name)
    assert names == ["2026-11-30-1", "2026-11-30-2", "2026-11-30-3"]


def test_runs_are_kept_under_runs() -> None:
    assert default_run_folder(TODAY).parent == Path("runs")


def test_parents_are_made_and_paths_lie_inside(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "a" / "b" / "c")
    assert folder.evidence.is_dir()
    inside = [folder.manifest, folder.database, folder.report, folder.recipe, folder.lock]
    assert [path.name for path in inside] == ["manifest.json", "run.sqlite", "report.html", "recipe.toml", "lock.txt"]
    assert {path.parent for path in inside} == {folder.path}


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert create_run_folder(tmp_path / "empty").evidence.is_dir()


def used_by_a_run(path: Path) -> None:
    create_run_folder(path)


def used_by_a_hidden_file(path: Path) -> None:
    path.mkdir()
    (path / ".keep").touch()


def a_file(path: Path) -> None:
    path.touch()


def a_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("occupy", [used_by_a_run, used_by_a_hidden_file, a_file, a_dangling_link, a_link_to_itself])
def test_what_exists_is_never_overwritten(tmp_path: Path, occupy: Callable[[Path], None]) -> None:
    occupy(tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInput) as caught:
        create_run_folder(tmp_path / "run")
    assert "never overwritten" in caught.value.why
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "name", ["file/below/it", "x" * 300, "nul\0inside"], ids=["below a file", "too long", "null byte"]
)
def test_a_path_that_cannot_be_a_folder_is_bad_input(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput) as caught:
        create_run_folder(tmp_path / name)
    assert caught.value.why


def test_every_refusal_names_the_path_and_a_next_step(tmp_path: Path) -> None:
    used_by_a_hidden_file(tmp_path / "run")
    for path in (tmp_path / "run", tmp_path / ("x" * 300), Path("/proc/rigwise/run")):
        with pytest.raises(RigwiseError) as caught:
            create_run_folder(path)
        assert path.name in caught.value.what
        assert "--out" in caught.value.next_step


def test_manifest_is_plain_json(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "run")
    folder.write_manifest(
        Manifest(kind="train", started_at="2026-11-30T09:00:00Z", rigwise_version="0.1.0", versions={"python": "3.11"})
    )
    assert json.loads(folder.manifest.read_text()) == {
        "schema": "rigwise.run/1",
        "kind": "train",
        "started_at": "2026-11-30T09:00:00Z",
        "rigwise_version": "0.1.0",
        "versions": {"python": "3.11"},
        "masked": False,
    }


def test_text_replaces_what_was_there_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_text(tmp_path / "recipe.toml", "old")
    write_text(tmp_path / "recipe.toml", 'data = "bag\udce9 ☃"')
    assert (tmp_path / "recipe.toml").read_bytes() == b'data = "bag\xe9 \xe2\x98\x83"'
    assert len(list(tmp_path.iterdir())) == 1


def test_text_into_a_missing_folder_is_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite):
        write_text(tmp_path / "missing" / "lock.txt", "torch==2.14.1")
