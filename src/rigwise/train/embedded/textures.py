"""What a surface is made of: colours, and patterns drawn over them."""

import math
from collections.abc import Callable
from random import Random

import msgspec
from PIL import Image, ImageChops, ImageDraw

Colour = tuple[int, int, int]

# One wardrobe for every class, so that colour says nothing about the class.
WARDROBE: tuple[Colour, ...] = (
    (28, 28, 32), (54, 56, 62), (120, 122, 126), (186, 186, 184), (238, 236, 230),
    (32, 44, 84), (46, 86, 150), (104, 160, 206), (72, 44, 30), (128, 82, 48),
    (186, 136, 86), (222, 200, 166), (140, 28, 36), (204, 52, 48), (226, 120, 132),
    (226, 132, 40), (240, 196, 72), (44, 82, 52), (96, 140, 82), (156, 168, 124),
    (38, 126, 124), (92, 56, 120), (168, 132, 190),
)  # fmt: skip
METALS: tuple[Colour, ...] = ((214, 178, 88), (196, 200, 206), (216, 160, 134), (104, 106, 112))


class Material(msgspec.Struct, frozen=True):
    """A surface: a colour, and a second colour laid over it in a pattern."""

    colour: Colour
    second: Colour
    pattern: str = "plain"
    period: float = 0.12
    """Distance between repeats, in product units."""
    angle: float = 0.0
    """Degrees, relative to the product."""
    grain_seed: int = 0


class Look(msgspec.Struct, frozen=True):
    """What one product is made of."""

    main: Material
    trim: Material
    accent: Colour
    metal: Colour


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """The colour `share` of the way from one to the other."""
    r, g, b = (round(a + (z - a) * share) for a, z in zip(one, other, strict=True))
    return r, g, b


def darker(colour: Colour, share: float = 0.3) -> Colour:
    """The colour that much nearer to black."""
    return mix(colour, (0, 0, 0), share)


def lighter(colour: Colour, share: float = 0.3) -> Colour:
    """The colour that much nearer to white."""
    return mix(colour, (255, 255, 255), share)


def jittered(colour: Colour, rng: Random, spread: int = 18) -> Colour:
    """A neighbour of the colour."""
    r, g, b = (min(255, max(0, channel + rng.randint(-spread, spread))) for channel in colour)
    return r, g, b


def pick_look(rng: Random) -> Look:
    """The materials of one product."""
    main, trim, accent = (jittered(colour, rng) for colour in rng.sample(WARDROBE, 3))
    pattern = rng.choices(list(PATTERNS), weights=PATTERN_WEIGHTS)[0]
    second = lighter(main, 0.12) if pattern in SUBTLE else jittered(rng.choice(WARDROBE), rng)
    surface = Material(main, second, pattern, rng.uniform(0.07, 0.2), rng.choice((0, 90, 45, -45)), rng.getrandbits(32))
    plain = Material(trim, lighter(trim, 0.08), rng.choice(SUBTLE), grain_seed=rng.getrandbits(32))
    return Look(surface, plain, accent, rng.choice(METALS))


def textured(material: Material, size: tuple[int, int], unit_px: float, rotation: float) -> Image.Image:
    """`size` pixels of the material, RGB, where one product unit is `unit_px` long and turned by `rotation` degrees."""
    period_px = max(4.0, material.period * unit_px)
    coverage = PATTERNS[material.pattern](size, period_px, material.angle + rotation, Random(material.grain_seed))
    return Image.composite(Image.new("RGB", size, material.second), Image.new("RGB", size, material.colour), coverage)


def noise(size: tuple[int, int], cell_px: float, rng: Random) -> Image.Image:
    """Smooth random grey, L, with features about `cell_px` wide."""
    coarse = (max(2, round(size[0] / cell_px)), max(2, round(size[1] / cell_px)))
    dots = Image.frombytes("L", coarse, rng.randbytes(coarse[0] * coarse[1]))
    return dots.resize(size, Image.Resampling.BILINEAR)


def _plain(size: tuple[int, int], period_px: float, angle: float, rng: Random) -> Image.Image:
    return noise(size, 3, rng)


def _leather(size: tuple[int, int], period_px: float, angle: float, rng: Random) -> Image.Image:
    return Image.blend(noise(size, period_px * 2, rng), noise(size, 5, rng), 0.45)


def _blotches(size: tuple[int, int], period_px: float, angle: float, rng: Random) -> Image.Image:
    return noise(size, period_px * 1.2, rng).point([0] * 118 + [255] * 138)


def _stripes(size: tuple[int, int], period_px: float, angle: float, rng: Random) -> Image.Image:
    bands = Image.new("L", size)
    pen = ImageDraw.Draw(bands)
    along = (math.cos(math.radians(angle)), math.sin(math.radians(angle)))
    reach = math.hypot(*size) / 2
    middle_x, middle_y = size[0] / 2, size[1] / 2
    width = max(1, round(period_px * rng.uniform(0.25, 0.55)))
    for i in range(-int(reach / period_px) - 1, int(reach / period_px) + 2):
        x, y = middle_x - along[1] * i * period_px, middle_y + along[0] * i * period_px
        ends = (x - along[0] * reach, y - along[1] * reach, x + along[0] * reach, y + along[1] * reach)
        pen.line(ends, fill=255, width=width)
    return bands


def _checks(size: tuple[int, int], period_px: float, angle: float, rng: Random) -> Image.Image:
    return ImageChops.add(_stripes(size, period_px, angle, rng), _stripes(size, period_px, angle + 90, rng), scale=2)


def _dots(size: tuple[int, int], period_px: float, angle: float, rng: Random) -> Image.Image:
    spots = Image.new("L", size)
    pen = ImageDraw.Draw(spots)
    radius = period_px * rng.uniform(0.18, 0.32)
    for row in range(int(size[1] / period_px) + 2):
        for column in range(int(size[0] / period_px) + 2):
            x, y = (column + row % 2 / 2) * period_px, row * period_px
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    return spots


PATTERNS: dict[str, Callable[[tuple[int, int], float, float, Random], Image.Image]] = {
    "plain": _plain,
    "leather": _leather,
    "stripes": _stripes,
    "checks": _checks,
    "dots": _dots,
    "blotches": _blotches,
}
PATTERN_WEIGHTS = (6, 4, 2, 2, 1, 1)
SUBTLE = ("plain", "leather")
