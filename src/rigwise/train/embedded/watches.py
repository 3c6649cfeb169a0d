"""Watches from the front: round, square, digital, pocket, smart."""

import math
from random import Random

from rigwise.train.embedded.outlines import Outline, curve, ellipse, mirrored, rounded_box
from rigwise.train.embedded.pen import Pen
from rigwise.train.embedded.textures import Colour, Look, darker, lighter

SEGMENTS = {"0": "abcdef", "1": "bc", "2": "abged", "3": "abgcd", "4": "fgbc",
            "5": "afgcd", "6": "afgedc", "7": "abc", "8": "abcdefg", "9": "abcdfg"}  # fmt: skip
"""Which of the seven bars of a digit are lit: a top, then clockwise, g the middle."""


def round_watch(pen: Pen, rng: Random, look: Look) -> None:
    """A wristwatch with a round case."""
    radius = rng.uniform(0.36, 0.48)
    _strap(pen, rng, look, radius * rng.uniform(0.5, 0.66), radius * 0.9)
    pen.fill(rounded_box(radius - 0.04, -0.06, radius + 0.09, 0.06, 0.02), look.metal)
    pen.fill(ellipse(0, 0, radius, radius), look.metal, volume=0.5)
    _dial(pen, rng, look, radius * 0.84)


def square_watch(pen: Pen, rng: Random, look: Look) -> None:
    """A dress watch with a rectangular case."""
    wide, high = rng.uniform(0.32, 0.4), rng.uniform(0.38, 0.48)
    _strap(pen, rng, look, wide * rng.uniform(0.7, 0.9), high * 0.9)
    pen.fill(rounded_box(wide - 0.04, -0.05, wide + 0.08, 0.05, 0.02), look.metal)
    pen.fill(rounded_box(-wide, -high, wide, high, 0.08), look.metal, volume=0.5)
    face = _face_colour(rng, look)
    pen.fill(rounded_box(-wide * 0.82, -high * 0.86, wide * 0.82, high * 0.86, 0.04), face, volume=0.1)
    ink = _ink(face)
    for i in range(12):
        angle = math.radians(30 * i)
        reach = 0.72 / max(abs(math.cos(angle)), abs(math.sin(angle)))
        x, y = math.cos(angle) * reach * wide, math.sin(angle) * reach * high
        pen.line([(x * 0.86, y * 0.86), (x, y)], 0.022, ink, volume=0)
    _hands(pen, rng, wide * 0.8, ink, look.accent)
    pen.shine([(x * wide, y * high) for x, y in ((-0.7, -0.8), (-0.1, -0.8), (-0.6, 0.2), (-0.7, 0.2))], 0.18)


def digital_watch(pen: Pen, rng: Random, look: Look) -> None:
    """A sports watch: a chunky resin case and a liquid-crystal display."""
    wide, high = rng.uniform(0.44, 0.54), rng.uniform(0.38, 0.46)
    _strap(pen, rng, look, wide * 0.66, high * 0.9, resin=True)
    for side in (-1, 1):
        for y in (-0.2, 0.2):
            pen.fill(rounded_box(side * wide - 0.05, y - 0.06, side * wide + 0.05, y + 0.06, 0.02), look.metal)
    corner = [(0, -high), (wide * 0.7, -high), (wide, -high * 0.6), (wide, high * 0.6), (wide * 0.7, high), (0, high)]
    pen.fill(mirrored(corner), look.main, volume=0.45)
    pen.fill(rounded_box(-wide * 0.82, -high * 0.72, wide * 0.82, high * 0.72, 0.06), darker(look.trim.colour, 0.55))
    screen = rng.choice(((176, 190, 164), (150, 168, 150), (30, 34, 38), (196, 204, 190)))
    pen.fill(rounded_box(-wide * 0.72, -high * 0.46, wide * 0.72, high * 0.5, 0.03), screen, volume=0.1)
    ink = (34, 40, 36) if sum(screen) > 300 else (140, 230, 170)
    _digits(pen, f"{rng.randint(10, 23)}{rng.randint(10, 59)}", wide * 0.6, high * 0.3, ink)
    pen.line([(-wide * 0.6, -high * 0.6), (wide * 0.3, -high * 0.6)], 0.03, look.accent, volume=0)


def pocket_watch(pen: Pen, rng: Random, look: Look) -> None:
    """A pocket watch: a crown and a bow on top, and a chain."""
    radius = rng.uniform(0.5, 0.6)
    sway = rng.choice((-1, 1))
    chain = curve([(0, -0.72), (sway * 0.3, -0.96), (sway * 0.75, -0.8), (sway * 0.9, -0.3), (sway * 0.8, 0.3)])
    for x, y in chain[::2]:
        pen.line(ellipse(x, y + 0.15, 0.035, 0.035), 0.02, look.metal)
    pen.line(ellipse(0, -radius, 0.12, 0.13), 0.04, look.metal)
    pen.fill(rounded_box(-0.07, -radius + 0.04, 0.07, -radius + 0.2, 0.02), darker(look.metal, 0.1))
    pen.fill(ellipse(0, 0.15, radius, radius), look.metal, volume=0.5)
    _dial(pen, rng, look, radius * 0.84, y0=0.15)


def smart_watch(pen: Pen, rng: Random, look: Look) -> None:
    """A smart watch: a dark rounded screen with rings or a big time."""
    wide, high = rng.uniform(0.36, 0.42), rng.uniform(0.42, 0.5)
    _strap(pen, rng, look, wide * 0.8, high * 0.9, resin=True)
    pen.fill(rounded_box(wide - 0.03, -0.16, wide + 0.06, 0.02, 0.03), look.metal)
    pen.fill(rounded_box(-wide, -high, wide, high, 0.16), look.metal, volume=0.4)
    pen.fill(rounded_box(-wide * 0.88, -high * 0.9, wide * 0.88, high * 0.9, 0.13), (16, 18, 22), volume=0.2)
    glow = lighter(look.accent, 0.25)
    if rng.random() < 0.5:
        for i, colour in enumerate((glow, (120, 220, 120), (90, 170, 240))):
            radius = 0.26 - 0.075 * i
            pen.line(ellipse(0, 0, radius, radius, -90, rng.uniform(60, 250)), 0.05, colour, volume=0)
    else:
        _digits(pen, f"{rng.randint(10, 23)}{rng.randint(10, 59)}", wide * 0.66, high * 0.26, glow)
        pen.line([(-0.22, 0.3), (0.1, 0.3)], 0.03, (150, 154, 160), volume=0)


def _strap(pen: Pen, rng: Random, look: Look, half: float, start: float, *, resin: bool = False) -> None:
    """Two strap halves above and below the case: leather, metal links or resin."""
    links = not resin and rng.random() < 0.4
    taper = half * rng.uniform(0.7, 0.9)
    for side in (-1, 1):
        outline = [(-half, side * start), (half, side * start), (taper, side * 0.98), (-taper, side * 0.98)]
        pen.fill(outline, darker(look.metal, 0.15) if links else look.main, volume=0.4)
        if links:
            _links(pen, look.metal, taper, side * start, side * 0.98)
        elif not resin:
            for x in (-0.8, 0.8):
                pen.stitch([(half * x, side * start), (taper * x, side * 0.96)], lighter(look.main.colour, 0.5))
    if not links:
        for y in (0.7, 0.79, 0.88):
            pen.fill(ellipse(0, y, 0.022, 0.022), darker(look.main.colour, 0.6), edge=0)


def _links(pen: Pen, metal: Colour, half: float, start: float, end: float) -> None:
    """Six rows of three links each."""
    row = (end - start) / 6
    for i in range(6):
        top, bottom = sorted((start + row * (i + 0.06), start + row * (i + 0.94)))
        for left, right in ((-0.98, -0.42), (-0.36, 0.36), (0.42, 0.98)):
            pen.fill(rounded_box(left * half, top, right * half, bottom, 0.02), metal, volume=0.5)


def _dial(pen: Pen, rng: Random, look: Look, radius: float, y0: float = 0.0) -> None:
    face = _face_colour(rng, look)
    ink = _ink(face)
    pen.fill(ellipse(0, y0, radius, radius), face, volume=0.12)
    for i in range(12):
        angle = math.radians(30 * i)
        inner = radius * (0.76 if i % 3 else 0.68)
        spoke = [(math.cos(angle) * reach, y0 + math.sin(angle) * reach) for reach in (inner, radius * 0.9)]
        pen.line(spoke, 0.02 if i % 3 else 0.035, ink, volume=0)
    if rng.random() < 0.35:
        for x, y in ((-0.36, 0), (0.36, 0), (0, 0.4)):
            pen.fill(ellipse(x * radius, y0 + y * radius, radius * 0.22, radius * 0.22), darker(face, 0.15), volume=0.1)
            pen.line([(x * radius, y0 + y * radius), (x * radius + 0.04, y0 + y * radius - 0.05)], 0.012, ink, volume=0)
    _hands(pen, rng, radius * 0.9, ink, look.accent, y0)
    pen.shine(ellipse(-radius * 0.35, y0 - radius * 0.4, radius * 0.4, radius * 0.25), 0.16)


def _hands(pen: Pen, rng: Random, reach: float, ink: Colour, second: Colour, y0: float = 0.0) -> None:
    for length, width, colour in ((0.52, 0.05, ink), (0.82, 0.032, ink), (0.86, 0.014, second)):
        angle = rng.uniform(0, math.tau)
        tip = (math.cos(angle) * reach * length, y0 + math.sin(angle) * reach * length)
        pen.line([(-tip[0] * 0.15, y0 - (tip[1] - y0) * 0.15), tip], width, colour, volume=0)
    pen.fill(ellipse(0, y0, 0.028, 0.028), second, edge=0)


def _digits(pen: Pen, digits: str, half_width: float, half_height: float, ink: Colour) -> None:
    """Four seven-segment digits with a colon, centred."""
    step = half_width * 2 / 4.4
    for i, digit in enumerate(digits):
        left = -half_width + step * (i + (0.4 if i >= 2 else 0))
        for bar in SEGMENTS[digit]:
            pen.line(_segment(bar, left, step * 0.66, half_height), 0.035, ink, volume=0)
    for y in (-0.4, 0.4):
        pen.fill(ellipse(-half_width + step * 2.1, y * half_height, 0.02, 0.02), ink, edge=0)


def _segment(bar: str, left: float, width: float, high: float) -> Outline:
    """One of the seven bars, as the line to draw."""
    upper, middle, lower = ([(left, y), (left + width, y)] for y in (-high, 0.0, high))
    return {
        "a": upper,
        "b": [upper[1], middle[1]],
        "c": [middle[1], lower[1]],
        "d": lower,
        "e": [middle[0], lower[0]],
        "f": [upper[0], middle[0]],
        "g": middle,
    }[bar]


def _face_colour(rng: Random, look: Look) -> Colour:
    return rng.choice(((240, 238, 230), (30, 32, 38), (228, 214, 184), darker(look.accent, 0.3), (206, 210, 214)))


def _ink(face: Colour) -> Colour:
    """Dark on a pale face, pale on a dark one."""
    return (36, 36, 40) if sum(face) > 330 else (232, 230, 222)


DESIGNS = (round_watch, square_watch, digital_watch, pocket_watch, smart_watch)
