"""Copies are found however they were made; another picture of the same kind is none."""

from pathlib import Path

import pytest
from audit.audited_sets import COPIES, audited, encoded, looked_at, of_kind, scene
from PIL import Image, ImageDraw

from rigwise.train.audit.duplicates import find_copies
from rigwise.train.embedded import EmbeddedSet, make_pictures


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> list[Image.Image]:
    """Thirty drawings with texture, light and noise."""
    folder = make_pictures(tmp_path_factory.mktemp("drawn") / "set", EmbeddedSet(per_class=6))
    opened = [Image.open(path) for path in sorted(folder.rglob("*.jpg"))]
    return [image.convert("RGB") for image in opened]


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_is_found_among_others(photographs: list[Image.Image], how: str) -> None:
    originals = [looked_at(encoded(image), f"a/{number}.jpg") for number, image in enumerate(photographs)]
    copies = [looked_at(COPIES[how](image), f"a/copy{number}.jpg") for number, image in enumerate(photographs[:10])]
    found = {(pair.first, pair.second) for pair in find_copies([*originals, *copies])}
    expected = {(number, len(originals) + number) for number in range(10)}
    assert found <= expected
    assert len(found) >= 9


def test_different_pictures_are_no_copies(photographs: list[Image.Image]) -> None:
    assert find_copies([looked_at(encoded(image)) for image in photographs]) == []


def test_equal_bytes_are_exact_whatever_the_name(photographs: list[Image.Image]) -> None:
    content = encoded(photographs[0])
    (pair,) = find_copies([looked_at(content), looked_at(encoded(photographs[1])), looked_at(content, "b/2.jpg")])
    assert (pair.first, pair.second, pair.exact) == (0, 2, True)


def disc(x: int, colour: str = "navy") -> bytes:
    image = Image.new("RGB", (96, 96), "white")
    ImageDraw.Draw(image).ellipse((x, 30, x + 36, 66), fill=colour)
    return encoded(image)


def test_small_things_on_the_same_background_are_no_copies() -> None:
    """Hashes of 64 bits take them for one (deepchecks issue 1243)."""
    image = Image.new("RGB", (96, 96), "white")
    ImageDraw.Draw(image).rectangle((30, 30, 66, 66), fill="navy")
    assert find_copies([looked_at(disc(30)), looked_at(disc(30, "darkred")), looked_at(encoded(image))]) == []


def test_pictures_that_show_nothing_are_no_near_copies() -> None:
    blank = [looked_at(encoded(Image.new("RGB", (96, 96), (level, level, level)))) for level in (250, 251, 252)]
    assert find_copies(blank) == []


def test_a_copy_across_splits_is_leakage_and_the_one_in_train_is_the_suspect(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for name in ("a", "b"):
            (tmp_path / split / name).mkdir(parents=True)
            for number in range(3):
                scene(f"{split}/{name}/{number}").save(tmp_path / split / name / f"{number}.png")
    (tmp_path / "train" / "b" / "leak.jpg").write_bytes(encoded(scene("test/a/0"), quality=60))
    (suspect,) = of_kind(audited(tmp_path), "copy")
    assert suspect.path == "train/b/leak.jpg"
    assert suspect.other is not None
    assert suspect.other.path == "test/a/0.png"
    assert "in test, whose accuracy it flatters" in suspect.because
    assert "one of the labels b and a is wrong" in suspect.because


def test_a_group_of_copies_keeps_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(3):
            scene(f"{name}/{number}").save(tmp_path / name / f"{number}.png")
    for number in range(4):
        (tmp_path / "a" / f"copy{number}.jpg").write_bytes(encoded(scene("a/0"), quality=90 - 10 * number))
    suspects = of_kind(audited(tmp_path), "copy")
    assert len(suspects) == 4
    assert {each.other.path for each in suspects if each.other} == {"a/0.png"}


def test_the_same_subject_in_another_style_is_no_copy(shared: Path) -> None:
    """Flat, three-dimensional, Google's and Twitter's drawings of one thing."""
    styles = ("fluentflat", "fluent3d", "google", "twitter")
    paths = [path for style in styles for path in sorted((shared / "data" / "products").rglob(f"*__{style}.webp"))]
    looks = [looked_at(path.read_bytes(), str(path)) for path in paths]
    pairs = [(Path(looks[pair.first].path).stem, Path(looks[pair.second].path).stem) for pair in find_copies(looks)]
    assert [pair for pair in pairs if pair[0].split("__")[0] == pair[1].split("__")[0]] == []
