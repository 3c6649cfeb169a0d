"""DATA to a picture set: both forms, the split, and what is said about the pictures."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from train import bad_pictures as odd
from train.bad_pictures import make_class

from rigwise.speech import printable
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.sample_ledger import SPLITS


def two_classes(root: Path, num_pictures: int = 20) -> Path:
    make_class(root / "bags", range(num_pictures))
    make_class(root / "shoes", range(100, 100 + num_pictures))
    return root


def paths(pictures: PictureSet, split: str) -> set[str]:
    return {picture.path for picture in getattr(pictures, split)}


def notes(pictures: PictureSet) -> str:
    return "\n".join(pictures.summary.notes)


def reasons(pictures: PictureSet) -> dict[str, str]:
    return {entry.path: entry.reason for entry in pictures.summary.bad}


def test_one_folder_of_classes_is_split(tmp_path: Path) -> None:
    pictures = read_pictures(two_classes(tmp_path), seed=0)
    assert pictures.classes == ("bags", "shoes")
    assert pictures.summary.counts == {
        "train": {"bags": 14, "shoes": 14},
        "val": {"bags": 3, "shoes": 3},
        "test": {"bags": 3, "shoes": 3},
    }
    assert set.union(*(paths(pictures, split) for split in SPLITS)) == {
        f"{name}/{seed:05d}.png" for name, first in (("bags", 0), ("shoes", 100)) for seed in range(first, first + 20)
    }
    assert pictures.summary.bad == ()
    assert pictures.summary.notes == ()
    assert "seed 0" in pictures.summary.split_rule


def test_split_does_not_depend_on_names_or_creation_order(tmp_path: Path) -> None:
    first = read_pictures(two_classes(tmp_path / "a"), seed=3)
    for number in reversed(range(20)):
        for name, offset in (("bags", 0), ("shoes", 100)):
            old = tmp_path / "a" / name / f"{number + offset:05d}.png"
            odd.write(tmp_path / "b" / name / f"{99 - number}.png", old.read_bytes())
    second = read_pictures(tmp_path / "b", seed=3)
    for split in SPLITS:
        assert {p.sha256 for p in getattr(first, split)} == {p.sha256 for p in getattr(second, split)}


def test_labels_and_hashes_fit_the_files(tmp_path: Path) -> None:
    pictures = read_pictures(two_classes(tmp_path), seed=0)
    assert [picture.path for picture in pictures.train] == sorted(paths(pictures, "train"))
    for picture in pictures.train:
        content = (tmp_path / picture.path).read_bytes()
        assert picture.sha256 == sha256(content).hexdigest()
        assert picture.path.startswith(pictures.classes[picture.label] + "/")


@pytest.mark.parametrize("val_name", ["val", "valid", "validation", "VAL"])
def test_split_folders_are_kept(val_name: str, tmp_path: Path) -> None:
    for split, first in (("train", 0), (val_name, 1000), ("test", 2000)):
        make_class(tmp_path / split / "bags", range(first, first + 4))
        make_class(tmp_path / split / "shoes" / "deeper", range(first + 100, first + 104))
    pictures = read_pictures(tmp_path, seed=0)
    assert pictures.classes == ("bags", "shoes")
    assert all(path.startswith("train/") for path in paths(pictures, "train"))
    assert all(path.startswith(f"{val_name}/") for path in paths(pictures, "val"))
    assert all(path.startswith("test/") for path in paths(pictures, "test"))
    assert [len(getattr(pictures, split)) for split in SPLITS] == [8, 8, 8]


def test_val_is_split_off_train_where_there_is_none(tmp_path: Path) -> None:
    two_classes(tmp_path / "train")
    make_class(tmp_path / "test" / "bags", range(1000, 1004))
    pictures = read_pictures(tmp_path, seed=0)
    assert paths(pictures, "test") == {f"test/bags/{seed:05d}.png" for seed in range(1000, 1004)}
    assert pictures.summary.counts["train"] == {"bags": 17, "shoes": 17}
    assert pictures.summary.counts["val"] == {"bags": 3, "shoes": 3}
    assert "train was split" in pictures.summary.split_rule
    assert "test has no picture of shoes" in notes(pictures)


def test_train_folder_alone_is_split_in_three(tmp_path: Path) -> None:
    two_classes(tmp_path / "train")
    assert [len(getattr(read_pictures(tmp_path, seed=0), split)) for split in SPLITS] == [28, 6, 6]


def test_unlabelled_test_folder_is_not_used(tmp_path: Path) -> None:
    two_classes(tmp_path / "train")
    odd.write(tmp_path / "test" / "1.jpg", odd.jpeg())
    pictures = read_pictures(tmp_path, seed=0)
    assert "test holds no class folders" in notes(pictures)
    assert len(pictures.test) == 6


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    make_class(tmp_path / "car", range(4))
    make_class(tmp_path / "train", range(10, 14))
    assert read_pictures(tmp_path, seed=0).classes == ("car", "train")


def test_copies_stay_on_one_side(tmp_path: Path) -> None:
    """Copies by bytes, and by pixels in another format."""
    two_classes(tmp_path)
    for seed in range(20):
        shutil.copy(tmp_path / f"bags/{seed:05d}.png", tmp_path / f"bags/copy{seed}.png")
        odd.write(tmp_path / f"bags/same{seed}.bmp", odd.encoded(odd.photo(seed, 24, 16), "BMP"))
    pictures = read_pictures(tmp_path, seed=0)
    side = {path: split for split in SPLITS for path in paths(pictures, split)}
    for seed in range(20):
        assert len({side[f"bags/{name}"] for name in (f"{seed:05d}.png", f"copy{seed}.png", f"same{seed}.bmp")}) == 1
    assert pictures.summary.counts["val"]["bags"] == 9
    assert "copies of another picture: 40" in notes(pictures)


def test_same_picture_in_two_classes_is_named(tmp_path: Path) -> None:
    two_classes(tmp_path)
    shutil.copy(tmp_path / "bags/00003.png", tmp_path / "shoes/wrong.png")
    pictures = read_pictures(tmp_path, seed=0)
    assert "pictures that are in two classes: 1 (bags/00003.png = shoes/wrong.png)" in notes(pictures)
    assert [{"bags/00003.png", "shoes/wrong.png"} <= paths(pictures, split) for split in SPLITS].count(True) == 1


def test_leakage_between_split_folders_is_counted(tmp_path: Path) -> None:
    two_classes(tmp_path / "train")
    make_class(tmp_path / "val" / "bags", [0, 1, 1000])
    make_class(tmp_path / "val" / "shoes", [1001])
    assert "pictures of val that are also in train, which flatters its accuracy: 2 (" in notes(
        read_pictures(tmp_path, seed=0)
    )


def test_copies_within_val_are_no_leakage(tmp_path: Path) -> None:
    two_classes(tmp_path / "train")
    make_class(tmp_path / "val" / "bags", [1000])
    make_class(tmp_path / "val" / "shoes", [1001])
    shutil.copy(tmp_path / "val/bags/01000.png", tmp_path / "val/bags/copy.png")
    assert read_pictures(tmp_path, seed=0).summary.notes == ("copies of another picture: 1",)


def test_imbalance_is_said_from_three_to_one(tmp_path: Path) -> None:
    make_class(tmp_path / "bags", range(43))
    make_class(tmp_path / "shoes", range(100, 114))
    assert read_pictures(tmp_path, seed=0).summary.counts["train"] == {"bags": 31, "shoes": 10}
    assert "bags has 31 pictures, shoes 10, a ratio of 3.1" in notes(read_pictures(tmp_path, seed=0))
    (tmp_path / "bags/00000.png").unlink()
    (tmp_path / "bags/00001.png").unlink()
    assert "unequal" not in notes(read_pictures(tmp_path, seed=0))


def test_litter_is_ignored(tmp_path: Path) -> None:
    two_classes(tmp_path)
    for name in ("truth.csv", ".DS_Store", "bags/.hidden.jpg", "bags/Thumbs.db", "shoes/desktop.ini"):
        odd.write(tmp_path / name, b"x")
    odd.write(tmp_path / "__MACOSX" / "bags" / "._1.jpg", b"x")
    odd.write(tmp_path / ".cache" / "1.jpg", b"x")
    pictures = read_pictures(tmp_path, seed=0)
    assert pictures.classes == ("bags", "shoes")
    assert (pictures.summary.bad, pictures.summary.notes) == ((), ())


def test_other_files_are_counted_not_listed(tmp_path: Path) -> None:
    two_classes(tmp_path)
    for name in ("bags/a.txt", "bags/b.TXT", "shoes/c.xml", "shoes/README"):
        odd.write(tmp_path / name, b"words")
    pictures = read_pictures(tmp_path, seed=0)
    assert pictures.summary.bad == ()
    assert "other files ignored: 4 (no suffix, .txt, .xml)" in notes(pictures)


def test_picture_without_suffix_is_used(tmp_path: Path) -> None:
    two_classes(tmp_path)
    odd.write(tmp_path / "bags/photo", odd.jpeg())
    assert len(read_pictures(tmp_path, seed=0).train) == 29


def test_pictures_beside_classes_are_said(tmp_path: Path) -> None:
    two_classes(tmp_path)
    odd.write(tmp_path / "loose.jpg", odd.jpeg())
    assert "itself, of no class, not used: 1" in notes(read_pictures(tmp_path, seed=0))


def test_bad_pictures_are_skipped_and_listed(tmp_path: Path) -> None:
    two_classes(tmp_path, 100)
    odd.write(tmp_path / "bags/half.jpg", odd.without_end(odd.jpeg(), 0.5))
    odd.write(tmp_path / "shoes/empty.png", b"")
    odd.make_fifo(tmp_path / "shoes/pipe.jpg")
    (tmp_path / "shoes/gone.jpg").symlink_to("nowhere.jpg")
    (tmp_path / "shoes/self.jpg").symlink_to("self.jpg")
    pictures = read_pictures(tmp_path, seed=0)
    assert reasons(pictures) == {
        "bags/half.jpg": "truncated: the file ends before the picture does",
        "shoes/empty.png": "empty file (0 bytes)",
        "shoes/gone.jpg": "a symbolic link that leads nowhere",
        "shoes/pipe.jpg": "not a regular file",
        "shoes/self.jpg": "a symbolic link that leads nowhere",
    }
    assert sum(len(getattr(pictures, split)) for split in SPLITS) == 200


def test_links_are_followed_but_never_in_circles(tmp_path: Path) -> None:
    root = two_classes(tmp_path / "pictures")
    make_class(tmp_path / "elsewhere", range(500, 505))
    (root / "bags" / "more").symlink_to(tmp_path / "elsewhere")
    (root / "bags" / "again").symlink_to(tmp_path / "elsewhere")
    (root / "bags" / "self").symlink_to(".")
    (root / "bags" / "up").symlink_to("..")
    (root / "bags" / "top").symlink_to("/")
    (tmp_path / "elsewhere" / "back").symlink_to(root)
    (root / "loop").symlink_to(".")
    pictures = read_pictures(root, seed=0)
    assert pictures.classes == ("bags", "shoes")
    assert sum(pictures.summary.counts[split]["bags"] for split in SPLITS) == 25
    assert len(reasons(pictures)) == 6
    assert {"bags/self", "bags/up", "bags/top", "loop"} < set(reasons(pictures))


def test_class_folder_may_be_a_link(tmp_path: Path) -> None:
    root = two_classes(tmp_path / "pictures")
    make_class(tmp_path / "elsewhere", range(500, 505))
    (root / "hats").symlink_to(tmp_path / "elsewhere")
    assert read_pictures(root, seed=0).classes == ("bags", "hats", "shoes")


STRANGE_NAMES = [
    b"caf\xe9.png",
    b"new\nline.png",
    "👩‍💻 日本.png".encode(),
    b"-rf.png",
    b"quote'\".png",
    b"\x1b[31m.png",
]


def test_file_names_in_any_encoding(tmp_path: Path) -> None:
    two_classes(tmp_path)
    for number, name in enumerate(STRANGE_NAMES):
        with open(os.fsencode(tmp_path / "bags") + b"/" + name, "wb") as file:
            file.write(odd.encoded(odd.photo(900 + number, 24, 16), "PNG"))
    with open(os.fsencode(tmp_path / "bags") + b"/bad\xff\n.png", "wb") as file:
        file.write(b"")
    pictures = read_pictures(tmp_path, seed=0)
    assert sum(pictures.summary.counts[split]["bags"] for split in SPLITS) == 26
    used = {os.fsencode(picture.path) for split in SPLITS for picture in getattr(pictures, split)}
    assert {b"bags/" + name for name in STRANGE_NAMES} <= used
    assert list(reasons(pictures)) == ["bags/bad\\xff\\n.png"]
    json.loads(msgspec.json.encode(pictures.summary))


def test_class_name_that_is_not_utf8_can_be_shown(tmp_path: Path) -> None:
    two_classes(tmp_path)
    os.rename(tmp_path / "bags", os.fsencode(tmp_path) + b"/sacs \xe0 main")
    pictures = read_pictures(tmp_path, seed=0)
    assert pictures.classes == ("sacs \\xe0 main", "shoes")
    json.loads(msgspec.json.encode(pictures.summary))


@pytest.mark.parametrize(
    ("name", "shown"),
    [("plain.jpg", "plain.jpg"), ("日本.jpg", "日本.jpg"), ("a\tb", "a\\tb"), ("\u202egpj.exe", "\\u202egpj.exe")],
)
def test_printable(name: str, shown: str) -> None:
    assert printable(name) == shown


def test_progress_counts_every_file(tmp_path: Path) -> None:
    two_classes(tmp_path, 5)
    seen: list[tuple[int, int]] = []
    read_pictures(tmp_path, seed=0, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 10) for done in range(1, 11)]


def test_interrupted_reading_leaves_no_threads(tmp_path: Path) -> None:
    two_classes(tmp_path, 50)
    calls = 0

    def interrupt(_done: int, _total: int) -> None:
        nonlocal calls
        calls += 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_pictures(tmp_path, seed=0, progress=interrupt)
    assert calls == 1
    assert not odd.picture_threads()
