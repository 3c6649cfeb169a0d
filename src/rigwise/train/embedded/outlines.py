"""Shapes as lists of points, in product coordinates: -1 to 1 on both axes, y downwards."""

import math
from collections.abc import Sequence

Point = tuple[float, float]
Outline = list[Point]


def smooth(points: Sequence[Point], *, steps: int = 8) -> Outline:
    """The closed Catmull-Rom curve through the points; naming a point twice makes a corner of it."""
    return _through([points[-1], *points, *points[:2]], steps)


def curve(points: Sequence[Point], *, steps: int = 8) -> Outline:
    """The open Catmull-Rom curve from the first point to the last."""
    return [*_through([points[0], *points, points[-1]], steps), points[-1]]


def _through(points: Sequence[Point], steps: int) -> Outline:
    """The curve from the second point to the last but one, without its end."""
    quadruples = zip(points, points[1:], points[2:], points[3:], strict=False)
    return [
        (_catmull_rom(*xs, step / steps), _catmull_rom(*ys, step / steps))
        for (xs, ys) in (tuple(zip(*quadruple, strict=True)) for quadruple in quadruples)
        if (xs[1], ys[1]) != (xs[2], ys[2])
        for step in range(steps)
    ]


def _catmull_rom(before: float, start: float, end: float, after: float, t: float) -> float:
    return 0.5 * (
        2 * start
        + (end - before) * t
        + (2 * before - 5 * start + 4 * end - after) * t**2
        + (3 * start - before - 3 * end + after) * t**3
    )


def ellipse(x: float, y: float, rx: float, ry: float, start: float = 0, stop: float = 360) -> Outline:
    """An ellipse around (x, y), or its arc from `start` to `stop` degrees, clockwise from the right."""
    num_points = max(8, round(abs(stop - start) / 6))
    angles = (math.radians(start + (stop - start) * i / num_points) for i in range(num_points + 1))
    return [(x + rx * math.cos(angle), y + ry * math.sin(angle)) for angle in angles]


def rounded_box(left: float, top: float, right: float, bottom: float, radius: float = 0.08) -> Outline:
    """A box whose corners are quarter circles."""
    r = min(radius, (right - left) / 2, (bottom - top) / 2)
    corners = (
        (right - r, top + r, 270),
        (right - r, bottom - r, 0),
        (left + r, bottom - r, 90),
        (left + r, top + r, 180),
    )
    return [point for x, y, start in corners for point in ellipse(x, y, r, r, start, start + 90)]


def mirrored(right: Sequence[Point]) -> Outline:
    """The closed outline made of its right half, named from top to bottom, and that half's mirror image."""
    return [*right, *((-x, y) for x, y in reversed(right) if x)]


def flipped(outline: Sequence[Point]) -> Outline:
    """The mirror image, left for right."""
    return [(-x, y) for x, y in outline]


def moved(outline: Sequence[Point], dx: float, dy: float) -> Outline:
    """The outline shifted by (dx, dy)."""
    return [(x + dx, y + dy) for x, y in outline]


def turned(outline: Sequence[Point], degrees: float, around: Point = (0, 0)) -> Outline:
    """The outline rotated clockwise around a point."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x0, y0 = around
    return [(x0 + (x - x0) * cos - (y - y0) * sin, y0 + (x - x0) * sin + (y - y0) * cos) for x, y in outline]
