"""DATA told apart: pictures, texts, and what is neither clearly."""

from pathlib import Path

import pytest

from rigwise.errors import BadInput
from rigwise.train.text.layout import is_text, text_layout


def fill(root: Path, *names: str, content: bytes = b"words") -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


@pytest.mark.parametrize("name", ["a.txt", "a.md", "deep/er/a.py", "a.jsonl", "a.jsonl.gz", "A.TXT"])
def test_a_folder_of_texts_is_one(tmp_path: Path, name: str) -> None:
    assert is_text(fill(tmp_path, name))


@pytest.mark.parametrize("name", ["book.txt", "notes.jsonl", "notes.jsonl.gz"])
def test_a_single_file_is_one(tmp_path: Path, name: str) -> None:
    assert is_text(fill(tmp_path, name) / name)


@pytest.mark.parametrize(
    "names",
    [
        ("bags/1.jpg", "shoes/2.jpg"),
        ("bags/1.jpg", "bags/1.txt", "shoes/2.jpg", "shoes/2.txt", "README.md"),
        ("train-0.tar", "README.md"),
        ("a/1.csv",),
        (),
    ],
)
def test_pictures_with_captions_and_shards_stay_pictures(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert not is_text(fill(tmp_path, *names))


def test_pictures_without_a_suffix_stay_pictures(tmp_path: Path) -> None:
    fill(tmp_path, "bags/1", "bags/2", "shoes/1", content=b"\xff\xd8\xff\0\0\0")
    assert not is_text(fill(tmp_path, "labels.txt"))


def test_a_text_without_a_suffix_is_no_picture(tmp_path: Path) -> None:
    assert is_text(fill(tmp_path, "LICENSE", "Makefile", "a.py"))


def test_illustrated_texts_are_texts(tmp_path: Path) -> None:
    root = fill(tmp_path, "logo.png", *(f"{number}.md" for number in range(12)))
    assert is_text(root)
    assert text_layout(root).others == {".png": 1}


def test_a_mixture_is_one_clear_error(tmp_path: Path) -> None:
    fill(tmp_path, "1.png", "2.png", *(f"{number}.md" for number in range(8)))
    with pytest.raises(BadInput, match="mixes pictures and texts") as caught:
        is_text(tmp_path)
    assert "pictures: 2, texts: 8" in caught.value.why


def test_what_is_not_there_is_left_to_who_says_so(tmp_path: Path) -> None:
    assert not is_text(tmp_path / "none")
    assert not is_text(fill(tmp_path, "notes.doc") / "notes.doc")


def test_folders_named_after_splits_are_splits(tmp_path: Path) -> None:
    layout = text_layout(fill(tmp_path, "train/a.txt", "valid/b.txt", "test/c/d.txt", "notes.txt"))
    assert layout.files == {"train": ["train/a.txt"], "val": ["valid/b.txt"], "test": ["test/c/d.txt"]}


def test_files_named_after_splits_are_splits(tmp_path: Path) -> None:
    layout = text_layout(fill(tmp_path, "train.jsonl", "val.jsonl.gz"))
    assert layout.files == {"train": ["train.jsonl"], "val": ["val.jsonl.gz"]}


def test_a_folder_called_train_alone_is_no_split(tmp_path: Path) -> None:
    assert text_layout(fill(tmp_path, "train/a.txt", "b.txt")).files == {"train": ["b.txt", "train/a.txt"]}


def test_two_folders_for_a_split_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="two folders for the same split"):
        text_layout(fill(tmp_path, "train/a.txt", "val/b.txt", "valid/c.txt"))


def test_a_loop_is_named_and_hidden_files_are_not_read(tmp_path: Path) -> None:
    fill(tmp_path, "a.txt", ".hidden/b.txt")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    layout = text_layout(tmp_path)
    assert layout.files == {"train": ["a.txt"]}
    assert [bad.path for bad in layout.bad] == ["gone.txt", "again"]
