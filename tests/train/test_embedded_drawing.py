"""The drawings themselves: curves, every design on its canvas, every background."""

import math
from random import Random

import pytest
from PIL import Image, ImageStat

from rigwise.train.embedded.outlines import curve, ellipse, mirrored, rounded_box, smooth, turned
from rigwise.train.embedded.pen import Pen, Placement
from rigwise.train.embedded.picture import DESIGNS, Design, draw_picture
from rigwise.train.embedded.scene import BACKGROUNDS
from rigwise.train.embedded.textures import PATTERNS, Material, pick_look, textured

CANVAS = (240, 240)
EVERY_DESIGN = [pytest.param(design, id=design.__name__) for designs in DESIGNS.values() for design in designs]


def draw(design: Design, seed: str) -> Pen:
    rng = Random(seed)
    pen = Pen(CANVAS, Placement(x_px=120, y_px=120, unit_px=100), light_degrees=230)
    design(pen, rng, pick_look(rng))
    return pen


@pytest.mark.parametrize("design", EVERY_DESIGN)
def test_a_design_fills_its_frame_and_stays_inside(design: Design) -> None:
    for seed in range(4):
        mask = draw(design, f"{seed}").mask
        covered = ImageStat.Stat(mask).mean[0] / 255
        assert 0.03 < covered < 0.7
        left, top, right, bottom = mask.getbbox() or (0, 0, 0, 0)
        assert max(right - left, bottom - top) > 130
        assert min(left, top) > 0
        assert max(right, bottom) < 240


@pytest.mark.parametrize("design", EVERY_DESIGN)
def test_a_design_varies(design: Design) -> None:
    first, second = (draw(design, seed) for seed in ("a", "b"))
    assert first.mask.tobytes() != second.mask.tobytes()
    assert first.colours.tobytes() != second.colours.tobytes()


def test_every_class_has_several_designs_of_its_own() -> None:
    names = [design.__name__ for designs in DESIGNS.values() for design in designs]
    assert all(len(designs) >= 4 for designs in DESIGNS.values())
    assert len(names) == len(set(names))


def test_the_product_is_lit_from_where_the_light_is() -> None:
    pen = Pen(CANVAS, Placement(x_px=120, y_px=120, unit_px=100), light_degrees=180)
    pen.fill(ellipse(0, 0, 0.8, 0.8), (200, 200, 200), volume=0.5, edge=0)
    left, right = (pen.colours.getpixel((x, 120)) for x in (60, 180))
    assert isinstance(left, tuple)
    assert isinstance(right, tuple)
    assert left[0] > right[0] + 20


def test_a_shape_outside_the_canvas_paints_nothing() -> None:
    pen = Pen(CANVAS, Placement(x_px=120, y_px=120, unit_px=100), light_degrees=230)
    pen.fill(ellipse(9, 9, 0.5, 0.5), (255, 0, 0))
    pen.line([(9, 9), (10, 10)], 0.1, (255, 0, 0))
    pen.shine(ellipse(9, 9, 0.5, 0.5))
    assert pen.mask.getbbox() is None


def test_flipping_mirrors_and_rotation_turns_clockwise() -> None:
    placed = Placement(x_px=0, y_px=0, unit_px=10, flipped=True)
    assert placed.pixels([(1, 0)]) == [(-10, 0)]
    quarter = Placement(x_px=0, y_px=0, unit_px=10, rotation_degrees=90)
    assert quarter.pixels([(1, 0)])[0] == pytest.approx((0, 10))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_mixes_its_two_colours_and_nothing_else(pattern: str) -> None:
    material = Material((200, 10, 10), (10, 10, 200), pattern, period=0.3, angle=30, grain_seed=5)
    image = textured(material, (120, 90), 60, 15)
    assert (image.mode, image.size) == ("RGB", (120, 90))
    reds, greens, blues = image.getextrema()
    assert greens == (10, 10)
    assert reds[0] >= 10
    assert blues[1] <= 200
    assert reds != (200, 200)
    assert image.tobytes() == textured(material, (120, 90), 60, 15).tobytes()


@pytest.mark.parametrize("kind", BACKGROUNDS)
@pytest.mark.parametrize("size", [(224, 320), (320, 224)])
def test_a_background_covers_the_whole_picture(kind: str, size: tuple[int, int]) -> None:
    for seed in range(6):
        image = BACKGROUNDS[kind](size, (180, 150, 120), Random(seed))
        assert (image.mode, image.size) == ("RGB", size)
        assert min(low for low, _ in image.getextrema()) > 0, "unpainted, black pixels"


def test_the_product_stands_out_from_its_background() -> None:
    drawn = draw_picture("bags", Random("stand out"), (120, 120, 120))
    assert isinstance(drawn.image, Image.Image)
    assert max(ImageStat.Stat(drawn.image).stddev) > 15


def test_curves_pass_through_their_points() -> None:
    points = [(0.0, 0.0), (1.0, 0.5), (2.0, -1.0)]
    assert set(points) <= set(smooth(points))
    path = curve(points)
    assert (path[0], path[-1]) == (points[0], points[-1])


def test_a_point_named_twice_is_a_corner_without_overshoot() -> None:
    box = [(x, y) for x, y in ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)) for _ in range(2)]
    assert max(max(abs(x), abs(y)) for x, y in smooth(box)) <= 1.0


def test_outlines_are_what_they_say() -> None:
    assert all(math.hypot(x - 1, y - 2) == pytest.approx(3) for x, y in ellipse(1, 2, 3, 3))
    assert mirrored([(0, -1), (1, 0), (0, 1)]) == [(0, -1), (1, 0), (0, 1), (-1, 0)]
    xs, ys = zip(*rounded_box(-1, -2, 3, 4), strict=True)
    assert (min(xs), min(ys), max(xs), max(ys)) == pytest.approx((-1, -2, 3, 4))
    assert turned([(1, 0)], 90)[0] == pytest.approx((0, 1))
