"""What surrounds a product: backgrounds, its shadow, and the camera's light, blur and noise."""

from collections.abc import Callable
from random import Random

from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFilter

from rigwise.train.embedded.textures import WARDROBE, Colour, Material, darker, jittered, lighter, mix, noise, textured

Size = tuple[int, int]
WITHIN_ANY_ROTATION = (38, 38, 218, 218)
"""The square of a 256-pixel image that stays inside it however it is turned: 256 / sqrt(2) on a side."""


def pick_background_colour(rng: Random) -> Colour:
    """Any colour: half of them pale and neutral like a shop's, half drawn from the wardrobe."""
    if rng.random() < 0.5:
        level = rng.randint(150, 245)
        return jittered((level, level, level), rng, 10)
    return mix(jittered(rng.choice(WARDROBE), rng), (200, 200, 200), rng.uniform(0, 0.5))


def plain(size: Size, colour: Colour, rng: Random) -> Image.Image:
    """One colour."""
    return Image.new("RGB", size, colour)


def gradient(size: Size, colour: Colour, rng: Random) -> Image.Image:
    """The colour brightening from one side to the other, or from the middle outwards."""
    ramp = Image.linear_gradient("L").rotate(rng.choice((0, 90, 180, 270)))
    if rng.random() < 0.5:
        ramp = Image.radial_gradient("L")
    return Image.composite(
        Image.new("RGB", size, darker(colour, rng.uniform(0.15, 0.45))),
        Image.new("RGB", size, lighter(colour, 0.2)),
        ramp.resize(size, Image.Resampling.BILINEAR),
    )


def studio(size: Size, colour: Colour, rng: Random) -> Image.Image:
    """A wall, and a floor that meets it in a soft edge."""
    horizon = round(size[1] * rng.uniform(0.55, 0.75))
    room = gradient(size, colour, rng)
    floor = gradient((size[0], size[1] - horizon), mix(colour, rng.choice(((120, 96, 74), (150, 150, 152))), 0.5), rng)
    room.paste(floor, (0, horizon))
    return room.filter(ImageFilter.BoxBlur(rng.choice((1, 3, 6))))


def fabric(size: Size, colour: Colour, rng: Random) -> Image.Image:
    """Cloth, paper or stone: the colour with a pattern over it."""
    pattern = rng.choice(("leather", "stripes", "checks", "dots", "blotches"))
    second = mix(colour, rng.choice(((255, 255, 255), (0, 0, 0))), rng.uniform(0.1, 0.4))
    material = Material(colour, second, pattern, rng.uniform(0.1, 0.5), rng.uniform(0, 180), rng.getrandbits(32))
    return textured(material, size, size[0] / 2.5, 0)


def planks(size: Size, colour: Colour, rng: Random) -> Image.Image:
    """Wooden boards, side by side."""
    boards = Image.new("RGB", size)
    draw = ImageDraw.Draw(boards)
    width = size[0] // rng.randint(3, 6)
    wood = mix(colour, (150, 108, 70), 0.6)
    for left in range(0, size[0], width):
        draw.rectangle((left, 0, left + width, size[1]), fill=jittered(wood, rng, 14), outline=darker(wood, 0.45))
    veins = noise((size[0], 12), 5, rng).resize(size).point(_table(190, 254))
    boards = ImageChops.multiply(boards, Image.merge("RGB", (veins,) * 3))
    return boards.transpose(Image.Transpose.ROTATE_90).resize(size) if rng.random() < 0.5 else boards


def clutter(size: Size, colour: Colour, rng: Random) -> Image.Image:
    """Other things lying around, out of focus: boxes, discs and rods that are no product."""
    scene = gradient(size, colour, rng)
    draw = ImageDraw.Draw(scene)
    for _ in range(rng.randint(4, 10)):
        x, y = rng.uniform(-0.1, 1) * size[0], rng.uniform(-0.1, 1) * size[1]
        wide, high = (rng.uniform(0.08, 0.4) * size[0] for _ in range(2))
        tint = mix(jittered(rng.choice(WARDROBE), rng), colour, rng.uniform(0.2, 0.7))
        kind = rng.choice(("box", "disc", "rod"))
        if kind == "box":
            draw.rectangle((x, y, x + wide, y + high), fill=tint, outline=darker(tint))
        elif kind == "disc":
            draw.ellipse((x, y, x + wide, y + wide), fill=tint, outline=darker(tint))
        else:
            draw.line((x, y, x + wide * rng.choice((-2, 2)), y + high), fill=tint, width=rng.randint(4, 14))
    return scene.filter(ImageFilter.BoxBlur(rng.choice((0.7, 1.5, 3))))


BACKGROUNDS: dict[str, Callable[[Size, Colour, Random], Image.Image]] = {
    "plain": plain,
    "gradient": gradient,
    "studio": studio,
    "fabric": fabric,
    "planks": planks,
    "clutter": clutter,
}


def shadowed(background: Image.Image, mask: Image.Image, light: tuple[float, float], rng: Random) -> Image.Image:
    """The background with the soft shadow of what `mask` covers, cast away from the light; `mask` may be larger."""
    reach, softness, strength = rng.uniform(0.01, 0.05), rng.uniform(0.15, 0.35), rng.uniform(0.2, 0.55)
    small = mask.reduce(8)
    shadow = Image.new("L", small.size)
    soft = small.filter(ImageFilter.BoxBlur(reach * softness * small.width))
    shadow.paste(soft, (round(-light[0] * reach * small.width), round(-light[1] * reach * small.width)))
    dimmed = shadow.resize(background.size, Image.Resampling.BILINEAR).point(_table(255, 255 * (1 - strength)))
    return ImageChops.multiply(background, Image.merge("RGB", (dimmed,) * 3))


def photographed(scene: Image.Image, brightness: float, rng: Random) -> Image.Image:
    """The scene as a camera takes it: exposure, contrast, uneven light, tint, focus and sensor noise."""
    picture = ImageEnhance.Brightness(scene).enhance(brightness)
    picture = ImageEnhance.Contrast(picture).enhance(rng.uniform(0.75, 1.2))
    picture = ImageEnhance.Color(picture).enhance(rng.uniform(0.6, 1.2))
    lit = _side_light(picture.size, rng)
    warmth = rng.uniform(-0.1, 0.1)
    tint = [lit.point(_table(0, 255 * (1 - max(0.0, side * warmth)))) for side in (-1, 0, 1)]
    picture = ImageChops.multiply(picture, Image.merge("RGB", tint))
    picture = picture.filter(ImageFilter.BoxBlur(rng.choice((0, 0, 0, 0.6, 1.0))))
    amplitude = rng.uniform(3, 8)
    grain = noise(picture.size, 1, rng).point(_table(128 - amplitude, 128 + amplitude))
    return ImageChops.add(picture, Image.merge("RGB", (grain,) * 3), offset=-128)


def _side_light(size: Size, rng: Random) -> Image.Image:
    """Grey to multiply a scene with: full on one side, falling off towards the other."""
    ramp = Image.linear_gradient("L").rotate(rng.uniform(0, 360), Image.Resampling.BILINEAR)
    even = ramp.crop(WITHIN_ANY_ROTATION).resize(size, Image.Resampling.BILINEAR)
    return even.point(_table(255 * (1 - rng.uniform(0, 0.35)), 255))


def _table(black: float, white: float) -> list[int]:
    """The table for `Image.point` that maps 0 to `black` and 255 to `white`, evenly."""
    return [round(black + (white - black) * level / 255) for level in range(256)]
