"""Paints a product: filled outlines and strokes with a texture, a volume and an edge, in product coordinates."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import msgspec
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from rigwise.train.embedded.outlines import Outline, Point
from rigwise.train.embedded.textures import Colour, Material, darker, textured

SHADE_REDUCTION = 4
"""Volumes are soft, so they are worked out on an image this many times smaller."""


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where the product sits on the canvas."""

    x_px: float
    y_px: float
    unit_px: float
    """Pixels to one product unit; the product is about two units across."""
    rotation_degrees: float = 0.0
    flipped: bool = False
    squeeze: float = 1.0
    """Width over height, relative to the drawing."""
    slant: float = 0.0
    """Shear: how far the top leans, per unit of height."""

    def pixels(self, points: Sequence[Point]) -> list[Point]:
        """Points in product coordinates, as canvas pixels."""
        cos, sin = (f(math.radians(self.rotation_degrees)) for f in (math.cos, math.sin))
        side = -self.squeeze if self.flipped else self.squeeze
        wide = [((x - self.slant * y) * side * self.unit_px, y / self.squeeze * self.unit_px) for x, y in points]
        return [(self.x_px + x * cos - y * sin, self.y_px + x * sin + y * cos) for x, y in wide]


class Pen:
    """A canvas for one product: its colours and the mask of where it is."""

    def __init__(self, size: tuple[int, int], placement: Placement, light_degrees: float) -> None:
        self.colours = Image.new("RGB", size)
        self.mask = Image.new("L", size)
        self.placement = placement
        self.light = (math.cos(math.radians(light_degrees)), math.sin(math.radians(light_degrees)))
        self._textures: dict[Material, Image.Image] = {}

    def fill(self, outline: Outline, surface: Material | Colour, *, volume: float = 0.35, edge: float = 0.45) -> None:
        """Fill a closed outline. `volume` 0 is flat, 1 strongly rounded; `edge` is how dark its rim is."""
        points = self.placement.pixels(outline)
        box = self._box(points, margin_px=2)
        if box is None:
            return
        shape = Image.new("L", (box[2] - box[0], box[3] - box[1]))
        local = [(x - box[0], y - box[1]) for x, y in points]
        ImageDraw.Draw(shape).polygon(local, fill=255)
        painted = ImageChops.multiply(self._surface(surface, box), self._shade(shape, volume))
        if edge:
            rim = darker(_colour(surface), edge)
            ImageDraw.Draw(painted).line([*local, local[0]], fill=rim, width=max(2, self._px(0.012)), joint="curve")
        self._lay(painted, shape, box)

    def line(self, points: Outline, width: float, surface: Material | Colour, *, volume: float = 0.3) -> None:
        """A stroke `width` product units wide, with round ends."""
        path = self.placement.pixels(points)
        width_px = max(2, self._px(width))
        box = self._box(path, margin_px=width_px)
        if box is None:
            return
        shape = Image.new("L", (box[2] - box[0], box[3] - box[1]))
        local = [(x - box[0], y - box[1]) for x, y in path]
        draw = ImageDraw.Draw(shape)
        draw.line(local, fill=255, width=width_px, joint="curve")
        for x, y in (local[0], local[-1]):
            draw.ellipse((x - width_px / 2, y - width_px / 2, x + width_px / 2, y + width_px / 2), fill=255)
        self._lay(ImageChops.multiply(self._surface(surface, box), self._shade(shape, volume)), shape, box)

    def stitch(self, points: Outline, colour: Colour, *, width: float = 0.014) -> None:
        """A dashed seam along the points."""
        path = self.placement.pixels(points)
        colours = ImageDraw.Draw(self.colours)
        dash_px, travelled, width_px = max(5.0, 0.05 * self.placement.unit_px), 0.0, max(2, self._px(width))
        for start, end in pairwise(path):
            length = math.dist(start, end)
            num_dashes = max(1, round(length / dash_px))
            for i in range(num_dashes):
                if int((travelled + i * length / num_dashes) / dash_px) % 2 == 0:
                    ends = (_along(start, end, i / num_dashes), _along(start, end, (i + 1) / num_dashes))
                    colours.line(ends, fill=colour, width=width_px)
            travelled += length

    def shine(self, outline: Outline, strength: float = 0.35) -> None:
        """A soft highlight inside the outline, only where the product already is."""
        points = self.placement.pixels(outline)
        box = self._box(points, margin_px=self._px(0.08))
        if box is None:
            return
        glow = Image.new("L", (box[2] - box[0], box[3] - box[1]))
        ImageDraw.Draw(glow).polygon([(x - box[0], y - box[1]) for x, y in points], fill=round(255 * strength))
        glow = glow.filter(ImageFilter.BoxBlur(self._px(0.03)))
        self.colours.paste((255, 255, 255), box, ImageChops.multiply(glow, self.mask.crop(box)))

    def _px(self, units: float) -> int:
        return round(units * self.placement.unit_px)

    def _box(self, points: Sequence[Point], margin_px: int) -> tuple[int, int, int, int] | None:
        """The part of the canvas the points cover, or None where they are all outside."""
        xs, ys = [x for x, _ in points], [y for _, y in points]
        left, top = max(0, int(min(xs)) - margin_px), max(0, int(min(ys)) - margin_px)
        right = min(self.mask.width, int(max(xs)) + margin_px + 1)
        bottom = min(self.mask.height, int(max(ys)) + margin_px + 1)
        return (left, top, right, bottom) if right > left and bottom > top else None

    def _surface(self, surface: Material | Colour, box: tuple[int, int, int, int]) -> Image.Image:
        if not isinstance(surface, Material):
            return Image.new("RGB", (box[2] - box[0], box[3] - box[1]), surface)
        if surface not in self._textures:
            place = self.placement
            self._textures[surface] = textured(surface, self.mask.size, place.unit_px, place.rotation_degrees)
        return self._textures[surface].crop(box)

    def _shade(self, shape: Image.Image, volume: float) -> Image.Image:
        """Grey to multiply a surface with, RGB: bright where it faces the light, dark where it turns away."""
        small = shape.reduce(SHADE_REDUCTION)
        radius = max(1, round(min(small.size) * 0.16))
        soft = ImageOps.expand(small, border=2 * radius).filter(ImageFilter.BoxBlur(radius))
        away = ImageChops.offset(soft, round(self.light[0] * radius), round(self.light[1] * radius))
        away = ImageOps.crop(away, border=2 * radius)
        grey = away.point(_from_floor(1 - volume))
        return Image.merge("RGB", (grey.resize(shape.size, Image.Resampling.BILINEAR),) * 3)

    def _lay(self, painted: Image.Image, shape: Image.Image, box: tuple[int, int, int, int]) -> None:
        self.colours.paste(painted, box, shape)
        self.mask.paste(255, box, shape)


@cache
def _from_floor(floor: float) -> list[int]:
    """The table that squeezes grey levels into `floor` to 1."""
    return [round(255 * floor + (1 - floor) * level) for level in range(256)]


def _colour(surface: Material | Colour) -> Colour:
    return surface.colour if isinstance(surface, Material) else surface


def _along(start: Point, end: Point, share: float) -> Point:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
