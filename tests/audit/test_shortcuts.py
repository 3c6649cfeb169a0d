"""What gives the class away is flagged; clean sets, however unequal, are not."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from shutil import copyfile

import pytest
from audit.audited_sets import CLASSES, HUES, audited, draw_set, flagged, recoloured, scene
from PIL import Image, ImageEnhance

EQUAL = dict.fromkeys(CLASSES, 40)
UNEQUAL = {
    "one large class": {"a": 160, "b": 10, "c": 9, "d": 8, "e": 7},
    "one large class at the end": {"a": 7, "b": 8, "c": 9, "d": 10, "e": 160},
    "two classes": {"a": 150, "b": 12},
    "tiny": dict.fromkeys(CLASSES, 6),
    "a class of four": {"a": 80, "b": 30, "c": 4},
    "a class of one": {"a": 40, "b": 40, "c": 1},
}


def test_b107_background_hue_of_equal_brightness_is_flagged(tmp_path: Path) -> None:
    report = audited(draw_set(tmp_path, EQUAL, lambda image, name, _: recoloured(image, HUES[name])))
    hue = next(each for each in report.shortcuts if each.name == "background_colour")
    assert hue.gives_class_away
    assert hue.balanced_accuracy_ratio > 0.95
    assert hue.chance_ratio == pytest.approx(0.2)
    assert {shown.class_name for shown in hue.examples} == set(CLASSES)
    assert all(shown.thumbnail.startswith("data:image/") for shown in hue.examples)
    assert report.needs_a_human


@pytest.mark.parametrize("sizes", [EQUAL, *UNEQUAL.values()], ids=["equal", *UNEQUAL])
def test_a_clean_set_raises_no_alarm_however_unequal(tmp_path: Path, sizes: dict[str, int]) -> None:
    report = audited(draw_set(tmp_path, sizes))
    assert flagged(report) == set()
    assert not report.needs_a_human


def test_a_shortcut_in_half_of_the_pictures_is_flagged(tmp_path: Path) -> None:
    def change(image: Image.Image, name: str, rng: Random) -> Image.Image:
        return recoloured(image, HUES[name]) if rng.random() < 0.5 else image

    assert "background_colour" in flagged(audited(draw_set(tmp_path, EQUAL, change)))


def test_a_subject_that_reaches_the_border_is_no_background(tmp_path: Path) -> None:
    """One class is drawn from edge to edge along the bottom, all on white."""

    def change(image: Image.Image, name: str, rng: Random) -> Image.Image:
        image = recoloured(image, (255, 255, 255))
        if name == "a":
            image.paste(tuple(rng.randint(0, 255) for _ in range(3)), (20, 60, 60, 96))
        return image

    assert "background_colour" not in flagged(audited(draw_set(tmp_path, EQUAL, change)))


def brighter(image: Image.Image, name: str, _: Random) -> Image.Image:
    return ImageEnhance.Brightness(image).enhance(0.3 + 0.3 * CLASSES.index(name))


def sized(image: Image.Image, name: str, _: Random) -> Image.Image:
    side = (96, 64, 128, 80, 112)[CLASSES.index(name)]
    return image.resize((side, side))


def stretched(image: Image.Image, name: str, rng: Random) -> Image.Image:
    side = rng.randint(70, 110)
    return image.resize((side + 12 * CLASSES.index(name), side))


@pytest.mark.parametrize(("change", "name"), [(brighter, "brightness"), (sized, "size"), (stretched, "aspect")])
def test_each_property_is_seen(
    tmp_path: Path, change: Callable[[Image.Image, str, Random], Image.Image], name: str
) -> None:
    assert name in flagged(audited(draw_set(tmp_path, EQUAL, change)))


def test_file_format_and_camera_are_seen(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0110] = "Phone 3"
    for number in range(20):
        for name, options in (("a/{}.png", {}), ("b/{}.jpg", {}), ("c/{}.jpg", {"exif": exif})):
            path = tmp_path / name.format(number)
            path.parent.mkdir(exist_ok=True)
            scene(path).save(path, **options)
    found = {each.name: each for each in audited(tmp_path).shortcuts}
    assert found["file_format"].gives_class_away
    assert found["camera"].gives_class_away
    assert found["file_format"].balanced_accuracy_ratio == pytest.approx(2 / 3, abs=0.02)


def test_b110_an_image_folder_is_audited_against_its_labels_without_a_data_set_library(tmp_path: Path) -> None:
    """Only folders of classes are given; cleanvision asks for a Hugging Face data set to know the labels."""
    report = audited(draw_set(tmp_path, EQUAL, brighter))
    assert report.classes == CLASSES
    assert report.counts == {"train": EQUAL}
    assert "brightness" in flagged(report)


def test_copies_count_once_where_classes_are_too_small_to_test(tmp_path: Path) -> None:
    folder = draw_set(tmp_path, dict.fromkeys("ab", 2))
    for picture in sorted(folder.rglob("*.*")):
        if picture.is_file():
            for number in range(12):
                copyfile(picture, picture.with_stem(f"{picture.stem}_copy{number}"))
    report = audited(folder)
    assert report.shortcuts == ()
    assert any("no shortcut could be tested" in note for note in report.notes)
