"""The embedded pictures as a folder: the same bytes each time, and a truth.csv that is true."""

import csv
import hashlib
import shutil
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from rigwise.errors import BadInput, CannotWrite
from rigwise.train.embedded import CLASSES, EmbeddedSet, already_drawn, make_pictures
from rigwise.train.embedded.generate import SHORTCUT_COLOURS

SMALL = EmbeddedSet(per_class=5)


@pytest.fixture(scope="module")
def progress() -> list[tuple[int, int]]:
    """What drawing the small set told of its progress."""
    return []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, progress: list[tuple[int, int]]) -> Path:
    folder = tmp_path_factory.mktemp("small") / "pictures"
    return make_pictures(folder, SMALL, progress=lambda done, total: progress.append((done, total)))


def truth(folder: Path) -> list[dict[str, str]]:
    with (folder / "truth.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def bytes_by_seed(folder: Path) -> dict[str, str]:
    return {row["seed"]: hashlib.sha256((folder / row["path"]).read_bytes()).hexdigest() for row in truth(folder)}


def test_the_same_settings_make_the_same_bytes(small: Path, tmp_path: Path) -> None:
    again = make_pictures(tmp_path / "again", SMALL)
    names = sorted(path.relative_to(small) for path in small.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert all((small / name).read_bytes() == (again / name).read_bytes() for name in names)


def test_another_seed_draws_other_pictures(small: Path, tmp_path: Path) -> None:
    other = make_pictures(tmp_path / "other", EmbeddedSet(per_class=5, seed=1))
    assert set(bytes_by_seed(small).values()).isdisjoint(bytes_by_seed(other).values())


def test_more_pictures_leave_the_others_as_they_are(small: Path, tmp_path: Path) -> None:
    few, many = bytes_by_seed(small), bytes_by_seed(make_pictures(tmp_path / "many", EmbeddedSet(per_class=7)))
    assert len(many) > len(few)
    assert {seed: many[seed] for seed in few} == few


def test_the_truth_names_exactly_the_files(small: Path) -> None:
    rows = truth(small)
    assert sorted(row["path"] for row in rows) == sorted(
        path.relative_to(small).as_posix() for path in small.rglob("*.jpg")
    )
    assert sorted(path.name for path in small.iterdir()) == ["test", "train", "truth.csv", "val"]
    assert Counter((row["path"].split("/")[0], row["true_class"]) for row in rows) == {
        (split, name): count for split, count in (("train", 3), ("val", 1), ("test", 1)) for name in CLASSES
    }
    assert all(row["labelled_class"] == row["true_class"] == row["path"].split("/")[1] for row in rows)


def test_pictures_are_jpeg_of_varied_size_and_no_two_alike(small: Path) -> None:
    sizes, looks = set(), set()
    for path in small.rglob("*.jpg"):
        with Image.open(path) as picture:
            assert (picture.format, picture.mode) == ("JPEG", "RGB")
            assert 224 <= min(picture.size) <= max(picture.size) <= 320
            sizes.add(picture.size)
            looks.add(picture.resize((8, 8)).tobytes())
    assert len(sizes) > 10
    assert len(looks) == 25


def test_label_noise_flips_the_exact_share_and_redraws_nothing(small: Path, tmp_path: Path) -> None:
    noisy = make_pictures(tmp_path / "noisy", EmbeddedSet(per_class=5, label_noise=0.2))
    wrong = [row for row in truth(noisy) if row["labelled_class"] != row["true_class"]]
    assert Counter(row["path"].split("/")[0] for row in wrong) == {"train": 3, "val": 1, "test": 1}
    assert all(row["path"].split("/")[1] == row["labelled_class"] for row in truth(noisy))
    assert bytes_by_seed(noisy) == bytes_by_seed(small)


def test_imbalance_makes_each_class_smaller_by_the_same_factor() -> None:
    assert [EmbeddedSet(per_class=160, imbalance=16.0).class_size(name) for name in CLASSES] == [160, 80, 40, 20, 10]
    shares = EmbeddedSet(per_class=100, imbalance={"watches": 0.1})
    assert [shares.class_size(name) for name in CLASSES] == [100, 100, 100, 100, 10]
    assert shares.split_sizes("watches") == {"train": 6, "val": 2, "test": 2}


def test_the_shortcut_colours_the_exact_share_of_backgrounds(tmp_path: Path) -> None:
    wanted = EmbeddedSet(per_class=5, background_shortcut=0.6, shortcut_swapped_in=("test",))
    rows = truth(make_pictures(tmp_path / "told", wanted))
    telling = [row for row in rows if row["background_class"]]
    assert Counter(row["path"].split("/")[0] for row in telling) == {"train": 9, "val": 3, "test": 3}
    for row in telling:
        assert (row["background_class"] == row["true_class"]) == (not row["path"].startswith("test/"))
        assert row["background"] == "plain"
        assert row["background_colour"] == "#{:02x}{:02x}{:02x}".format(*SHORTCUT_COLOURS[row["background_class"]])


def test_a_shortcut_background_can_be_seen_in_the_picture(tmp_path: Path) -> None:
    folder = make_pictures(tmp_path / "told", EmbeddedSet(per_class=5, background_shortcut=1.0))
    for row in truth(folder):
        with Image.open(folder / row["path"]) as picture:
            corners = [picture.getpixel((x, y)) for x in (2, picture.width - 3) for y in (2, picture.height - 3)]
        seen = sorted(corners)[len(corners) // 2]
        assert isinstance(seen, tuple)
        nearest = min(SHORTCUT_COLOURS, key=lambda name: _hue_distance(seen, SHORTCUT_COLOURS[name]))
        assert nearest == row["true_class"], row["path"]


def _hue_distance(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Distance of two colours after taking brightness and contrast out."""
    mean_one, mean_other = sum(one) / 3, sum(other) / 3
    direction_one, direction_other = [c - mean_one for c in one], [c - mean_other for c in other]
    length_one, length_other = (sum(c * c for c in d) ** 0.5 or 1 for d in (direction_one, direction_other))
    return -sum(a * b for a, b in zip(direction_one, direction_other, strict=True)) / length_one / length_other


def test_a_set_that_is_there_is_recognised(small: Path, tmp_path: Path) -> None:
    assert already_drawn(small, SMALL)
    assert not already_drawn(small, EmbeddedSet(per_class=5, seed=1))
    assert not already_drawn(small, EmbeddedSet(per_class=5, label_noise=0.2))
    assert not already_drawn(small, EmbeddedSet(per_class=6))
    assert not already_drawn(tmp_path, SMALL)


def test_a_set_with_a_picture_missing_is_not_there(small: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(small, tmp_path / "pictures")
    assert already_drawn(folder, SMALL)
    next(folder.rglob("*.jpg")).unlink()
    assert not already_drawn(folder, SMALL)


@pytest.mark.usefixtures("small")
def test_progress_counts_every_picture(progress: list[tuple[int, int]]) -> None:
    assert progress == [(done, 25) for done in range(1, 26)]


def test_an_interruption_leaves_an_empty_folder(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_pictures(tmp_path / "pictures", SMALL, progress=interrupt)
    assert list((tmp_path / "pictures").iterdir()) == []


def test_a_folder_that_holds_something_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(BadInput, match="cannot put pictures") as refused:
        make_pictures(tmp_path, SMALL)
    assert refused.value.why == "it is not empty"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(BadInput) as refused:
        make_pictures(tmp_path / "mine.txt", SMALL)
    assert refused.value.why == "it is a file, not a folder"


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite) as refused:
        make_pictures(tmp_path / "file" / "pictures", SMALL)
    assert refused.value.why == "Not a directory"


def test_all_faults_of_the_settings_are_reported_at_once(tmp_path: Path) -> None:
    wrong = EmbeddedSet(
        per_class=4,
        label_noise=1.5,
        background_shortcut=-0.1,
        imbalance={"hats": 0.5, "bags": 0.0},
        shortcut_swapped_in=("testing",),
    )
    with pytest.raises(BadInput) as refused:
        make_pictures(tmp_path / "pictures", wrong)
    for fault in ("per_class is 4", "label_noise is 1.5", "background_shortcut is -0.1", "hats", "bags", "testing"):
        assert fault in refused.value.why
    assert not (tmp_path / "pictures").exists()


@pytest.mark.parametrize("imbalance", [0.5, float("inf"), float("nan"), -1.0])
def test_an_impossible_imbalance_is_a_fault(imbalance: float) -> None:
    assert len(EmbeddedSet(imbalance=imbalance).faults()) == 1
