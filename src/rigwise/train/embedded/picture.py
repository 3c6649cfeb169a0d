"""One picture: a product of a class, somewhere in a scene, and the truth about it."""

import math
from random import Random
from typing import Protocol

import msgspec
from PIL import Image

from rigwise.train.embedded import accessories, bags, jackets, shoes, watches
from rigwise.train.embedded.pen import Pen, Placement
from rigwise.train.embedded.scene import BACKGROUNDS, photographed, pick_background_colour, shadowed
from rigwise.train.embedded.textures import Colour, Look, pick_look

SUPERSAMPLING = 2
"""Drawn this many times larger than the picture, then reduced, so that edges are smooth."""

READABLE = ("watches",)
"""Classes that show digits, which must not be mirrored."""


class Design(Protocol):
    """Draws one product of a design, varied by `rng`, filling about -1 to 1 on both axes."""

    __name__: str

    def __call__(self, pen: Pen, rng: Random, look: Look) -> None:
        """Paint it."""


DESIGNS: dict[str, tuple[Design, ...]] = {
    "accessories": accessories.DESIGNS,
    "bags": bags.DESIGNS,
    "jackets": jackets.DESIGNS,
    "shoes": shoes.DESIGNS,
    "watches": watches.DESIGNS,
}


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """A finished picture and how it came about."""

    image: Image.Image
    design: str
    pattern: str
    background: str
    background_colour: Colour
    scale: float
    """About the share of the picture's shorter side that the product spans."""
    rotation_degrees: float
    brightness: float


def draw_picture(name: str, rng: Random, background_colour: Colour | None = None) -> Drawn:
    """A picture of a product of class `name`; a given background colour is kept plain, so that it can be seen."""
    size = rng.randint(224, 320), rng.randint(224, 320)
    canvas = size[0] * SUPERSAMPLING, size[1] * SUPERSAMPLING
    design, look = rng.choice(DESIGNS[name]), pick_look(rng)
    pen = Pen(canvas, _place(canvas, rng, may_flip=name not in READABLE), light_degrees=rng.uniform(200, 340))
    design(pen, rng, look)
    kind = rng.choice(list(BACKGROUNDS))
    colour = pick_background_colour(rng)
    if background_colour is not None:
        kind, colour = "plain", background_colour
    scene = shadowed(BACKGROUNDS[kind](size, colour, rng), pen.mask, pen.light, rng)
    scene = scene.resize(canvas, Image.Resampling.NEAREST)
    scene.paste(pen.colours, (0, 0), pen.mask)
    brightness = rng.uniform(0.8, 1.35)
    return Drawn(
        image=photographed(scene.reduce(SUPERSAMPLING), brightness, rng),
        design=design.__name__,
        pattern=look.main.pattern,
        background=kind,
        background_colour=colour,
        scale=pen.placement.unit_px / (min(canvas) / 2),
        rotation_degrees=pen.placement.rotation_degrees,
        brightness=brightness,
    )


def _place(canvas: tuple[int, int], rng: Random, *, may_flip: bool) -> Placement:
    """Somewhere near the middle, at most a little outside the frame."""
    unit_px = min(canvas) / 2 * rng.uniform(0.5, 0.98)
    room = [max(0.0, side / 2 - unit_px * 0.9) for side in canvas]
    return Placement(
        x_px=canvas[0] / 2 + room[0] * rng.uniform(-1, 1),
        y_px=canvas[1] / 2 + room[1] * rng.uniform(-1, 1),
        unit_px=unit_px,
        rotation_degrees=max(-60.0, min(60.0, rng.gauss(0, 18))),
        flipped=rng.random() < 0.5 and may_flip,
        squeeze=math.exp(rng.uniform(-0.12, 0.12)),
        slant=rng.uniform(-0.12, 0.12),
    )
