"""DATA that cannot be trained on: one clear error each, naming every case."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from train import bad_pictures as odd
from train.bad_pictures import make_class

from rigwise.errors import BadInput, ExitCode
from rigwise.train.pictures.folder import read_pictures


def fault(root: Path, **options: float) -> BadInput:
    """What `read_pictures` says of `root`; a complete error, printable."""
    with pytest.raises(BadInput) as raised:
        read_pictures(root, seed=0, **options)
    error = raised.value
    assert error.exit_code == ExitCode.USAGE
    assert error.what
    assert error.why
    assert error.next_step
    f"{error.what}{error.why}{error.next_step}".encode()
    return error


def test_missing(tmp_path: Path) -> None:
    assert f"no folder {tmp_path}/none" in fault(tmp_path / "none").what


def test_name_that_is_not_utf8(tmp_path: Path) -> None:
    assert "n\\xffne" in fault(Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xffne"))).what


def test_file(tmp_path: Path) -> None:
    assert "is not a folder" in fault(odd.write(tmp_path / "pictures.zip", b"PK")).what


def test_empty(tmp_path: Path) -> None:
    assert "it is empty" in fault(tmp_path).why


def test_only_hidden_and_other_files(tmp_path: Path) -> None:
    odd.write(tmp_path / "truth.csv", b"")
    odd.write(tmp_path / ".hidden" / "1.jpg", odd.jpeg())
    assert "neither class folders nor pictures" in fault(tmp_path).why


def test_loose_pictures(tmp_path: Path) -> None:
    make_class(tmp_path, range(3))
    assert "pictures in the folder itself: 3" in fault(tmp_path).why


def test_loose_pictures_in_train(tmp_path: Path) -> None:
    make_class(tmp_path / "train", range(3))
    make_class(tmp_path / "val" / "bags", range(3))
    assert f"no class folders in {tmp_path}/train" in fault(tmp_path).what


def test_no_train(tmp_path: Path) -> None:
    make_class(tmp_path / "val" / "bags", range(3))
    make_class(tmp_path / "test" / "bags", range(3))
    assert "no train folder" in fault(tmp_path).what


def test_two_val_folders(tmp_path: Path) -> None:
    for split in ("train", "val", "valid"):
        make_class(tmp_path / split / "bags", range(3))
    assert "val, valid" in fault(tmp_path).why


def test_one_class(tmp_path: Path) -> None:
    make_class(tmp_path / "bags", range(3))
    assert "only one class" in fault(tmp_path).what
    assert "bags" in fault(tmp_path).what


def test_classes_one_folder_deeper(tmp_path: Path) -> None:
    make_class(tmp_path / "products" / "bags", range(3))
    make_class(tmp_path / "products" / "shoes", range(3))
    assert f"rigwise train {tmp_path}/products" in fault(tmp_path).next_step


def test_small_classes_are_named_all_at_once(tmp_path: Path) -> None:
    """One picture; none; and two copies of one, which are one."""
    make_class(tmp_path / "bags", range(5))
    make_class(tmp_path / "hats", [10])
    (tmp_path / "jackets").mkdir()
    odd.write(tmp_path / "shoes" / "1.png", odd.jpeg())
    odd.write(tmp_path / "shoes" / "2.png", odd.jpeg())
    assert "hats (1), jackets (0), shoes (1)" in fault(tmp_path).what


def test_class_that_train_lacks(tmp_path: Path) -> None:
    make_class(tmp_path / "train" / "bags", range(5))
    make_class(tmp_path / "train" / "hats", range(10, 15))
    make_class(tmp_path / "val" / "bags", range(20, 25))
    make_class(tmp_path / "val" / "shoes", range(30, 35))
    assert "shoes (0 in train, 5 in all)" in fault(tmp_path).what


def test_train_too_small_to_give_to_val(tmp_path: Path) -> None:
    for split, first in (("train", 0), ("test", 100)):
        make_class(tmp_path / split / "bags", range(first, first + 5))
        make_class(tmp_path / split / "hats", [first + 50])
    assert "hats (1)" in fault(tmp_path).what


def test_val_without_usable_pictures(tmp_path: Path) -> None:
    make_class(tmp_path / "train" / "bags", range(5))
    make_class(tmp_path / "train" / "hats", range(10, 15))
    (tmp_path / "val" / "bags").mkdir(parents=True)
    assert f"no usable picture in {tmp_path}/val" in fault(tmp_path).what


def test_too_many_bad_pictures(tmp_path: Path) -> None:
    make_class(tmp_path / "bags", range(50))
    make_class(tmp_path / "shoes", range(100, 150))
    for number in range(12):
        odd.write(tmp_path / "shoes" / f"empty{number:02d}.jpg", b"")
    error = fault(tmp_path)
    assert "12 of 112 files" in error.what
    assert "10.7 %" in error.what
    assert error.why.count("empty file (0 bytes)") == 10
    assert "shoes/empty00.jpg" in error.why
    assert len(read_pictures(tmp_path, seed=0, max_bad_ratio=12 / 112).summary.bad) == 12


def test_broken_links_count_as_bad(tmp_path: Path) -> None:
    make_class(tmp_path / "bags", range(5))
    make_class(tmp_path / "shoes", range(100, 105))
    (tmp_path / "shoes" / "gone.jpg").symlink_to("/nowhere/at/all.jpg")
    assert "1 of 11 files" in fault(tmp_path).what


def test_nothing_but_bad_pictures(tmp_path: Path) -> None:
    odd.write(tmp_path / "bags" / "1.jpg", b"")
    odd.write(tmp_path / "shoes" / "1.jpg", b"")
    assert "2 of 2 files" in fault(tmp_path, max_bad_ratio=0.5).what


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything, so that faults of permission need another user."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Two classes that any user may read, unlike what lies in pytest's own folders."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        make_class(folder / "bags", range(30))
        make_class(folder / "shoes", range(100, 130))
        yield folder


def test_unreadable_folder(open_folder: Path) -> None:
    (open_folder / "shoes" / "locked").mkdir(mode=0)
    with as_nobody():
        error = fault(open_folder)
    assert f"cannot read the folder {open_folder}/shoes/locked" in error.what
    assert "Permission denied" in error.why


def test_unreadable_file_is_listed(open_folder: Path) -> None:
    (open_folder / "shoes" / "00100.png").chmod(0)
    with as_nobody():
        (bad,) = read_pictures(open_folder, seed=0).summary.bad
    assert (bad.path, bad.reason) == ("shoes/00100.png", "cannot be read: Permission denied")
