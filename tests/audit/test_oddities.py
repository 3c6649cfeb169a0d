"""Odd pictures are named with their reason; a set that is odd as a whole is not."""

from collections.abc import Callable

import pytest
from audit.audited_sets import encoded, looked_at, scene
from PIL import Image, ImageEnhance, ImageFilter

from rigwise.train.audit.look import Look
from rigwise.train.audit.oddities import find_odd

ODD: dict[str, Callable[[Image.Image], Image.Image]] = {
    "dark": lambda image: ImageEnhance.Brightness(image).enhance(0.15),
    "bright": lambda image: Image.blend(image, Image.new("RGB", image.size, "white"), 0.97),
    "hardly any contrast": lambda image: ImageEnhance.Contrast(image).enhance(0.05),
    "blurred": lambda image: image.filter(ImageFilter.GaussianBlur(7)),
    "odd shape": lambda image: image.resize((400, 96)),
    "small": lambda image: image.resize((20, 20)),
    "large": lambda image: image.resize((500, 500)),
}


def looks(*images: Image.Image) -> list[Look]:
    return [looked_at(encoded(image, "PNG")) for image in images]


@pytest.mark.parametrize("reason", ODD)
def test_one_odd_picture_is_named(reason: str) -> None:
    usual = [scene(number) for number in range(12)]
    found = list(find_odd(looks(*usual, ODD[reason](scene("odd")))))
    assert [place for place, _ in found] == [12]
    assert reason in found[0][1]


@pytest.mark.parametrize("reason", ["blurred", "odd shape", "small", "large"])
def test_a_set_that_is_like_that_as_a_whole_is_as_it_is(reason: str) -> None:
    assert list(find_odd(looks(*(ODD[reason](scene(number)) for number in range(12))))) == []
