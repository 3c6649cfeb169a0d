"""Jackets from the front, laid flat: bomber, coat, hoodie, vest, puffer, biker."""

from random import Random

from rigwise.train.embedded.outlines import Outline, curve, ellipse, flipped, mirrored, rounded_box, smooth
from rigwise.train.embedded.pen import Pen
from rigwise.train.embedded.textures import Colour, Look, Material, darker, lighter

SHOULDER = 0.44


def bomber(pen: Pen, rng: Random, look: Look) -> None:
    """A short jacket with ribbed collar, cuffs and hem, and a zip."""
    hem = rng.uniform(0.55, 0.68)
    _sleeves(pen, rng, look.main, cuff=look.trim)
    _torso(pen, look.main, hem, waist=0.44)
    _ribbed(pen, rounded_box(-0.44, hem - 0.02, 0.44, hem + 0.12, 0.04), look.trim, hem + 0.05)
    pen.fill(smooth(mirrored([(0, -0.62), (0.18, -0.72), (0.2, -0.6), (0, -0.46)])), look.trim)
    _zip(pen, look.metal, -0.5, hem + 0.1)
    for side in (-1, 1):
        pen.line([(side * 0.18, 0.12), (side * 0.3, 0.36)], 0.04, darker(look.main.colour, 0.5))


def coat(pen: Pen, rng: Random, look: Look) -> None:
    """A long coat with lapels and buttons, sometimes belted."""
    hem = rng.uniform(0.84, 0.98)
    _sleeves(pen, rng, look.main)
    _torso(pen, look.main, hem, waist=rng.uniform(0.46, 0.58))
    pen.fill([(-0.16, -0.72), (0.16, -0.72), (0, -0.2)], look.trim)
    for side in (-1, 1):
        lapel = [(0.16, -0.74), (0.26, -0.56), (0.2, -0.46), (0.3, -0.4), (0.02, -0.08), (0.02, -0.2)]
        pen.fill([(side * x, y) for x, y in lapel], look.main, volume=0.25, edge=0.6)
        pen.fill([(side * x, y) for x, y in [(0.18, 0.3), (0.4, 0.34), (0.4, 0.42), (0.18, 0.38)]], look.main, edge=0.6)
    pen.line([(0.02, -0.1), (0.02, hem)], 0.018, darker(look.main.colour, 0.6))
    buttons = (-0.1, 0.1) if rng.random() < 0.5 else (0.08,)
    for y in (0.02, 0.22, 0.44, 0.64):
        for x in buttons:
            pen.fill(ellipse(x, y, 0.03, 0.03), look.accent, volume=0.5)
    if rng.random() < 0.5:
        pen.fill(mirrored([(0, 0.08), (0.42, 0.08), (0.42, 0.18), (0, 0.18)]), look.trim)
        pen.fill(rounded_box(-0.09, 0.05, 0.09, 0.21, 0.03), look.metal)


def hoodie(pen: Pen, rng: Random, look: Look) -> None:
    """A hooded top with drawstrings and a pouch, or a zip."""
    hem = rng.uniform(0.64, 0.78)
    _sleeves(pen, rng, look.main, cuff=look.main)
    back = [(0, -0.98), (0.2, -0.94), (0.3, -0.74), (0.26, -0.56), (0, -0.5)]
    pen.fill(smooth(mirrored(back)), look.main, volume=0.5)
    _torso(pen, look.main, hem, waist=0.46)
    hood = [(0, -0.9), (0.14, -0.86), (0.2, -0.7), (0.14, -0.56), (0, -0.46)]
    pen.fill(smooth(mirrored(hood)), look.main, volume=0.5)
    opening = [(0, -0.86), (0.1, -0.82), (0.14, -0.7), (0.08, -0.58), (0, -0.54)]
    pen.fill(smooth(mirrored(opening)), darker(look.main.colour, 0.6))
    _ribbed(pen, rounded_box(-0.46, hem - 0.02, 0.46, hem + 0.1, 0.04), look.main, hem + 0.04)
    pouch = [(0, 0.22), (0.2, 0.22), (0.34, 0.44), (0.34, hem - 0.04), (0, hem - 0.04)]
    pen.fill(mirrored(pouch), look.main, edge=0.55)
    if rng.random() < 0.5:
        _zip(pen, look.metal, -0.5, hem + 0.08)
    elif rng.random() < 0.6:
        pen.fill(rounded_box(-0.22, -0.2, 0.22, -0.06, 0.04), look.accent, volume=0.1)
    for x in (-0.07, 0.07):
        pen.line(curve([(x, -0.52), (x * 1.3, -0.36), (x * 1.1, -0.24)]), 0.028, lighter(look.trim.colour, 0.5))


def vest(pen: Pen, rng: Random, look: Look) -> None:
    """A body warmer: no sleeves, quilted or buttoned."""
    hem = rng.uniform(0.6, 0.76)
    body = [(0, -0.36), (0.14, -0.74), (0.38, -0.64), (0.36, -0.4), (0.5, -0.12), (0.5, hem), (0.5, hem),
            (0, hem + 0.04)]  # fmt: skip
    pen.fill(mirrored([(0, -0.72), (0.15, -0.76), (0.1, -0.5), (0, -0.32)]), darker(look.trim.colour, 0.4))
    pen.fill(smooth(mirrored(body)), look.main, volume=0.5)
    if rng.random() < 0.6:
        _quilting(pen, look.main, hem, width=0.48)
        pen.fill(smooth(mirrored([(0, -0.6), (0.18, -0.8), (0.22, -0.62), (0, -0.38)])), look.trim)
        _zip(pen, look.metal, -0.42, hem)
    else:
        pen.line([(0, -0.36), (0, hem)], 0.02, darker(look.main.colour, 0.6))
        for i in range(4):
            pen.fill(ellipse(0.05, -0.24 + 0.2 * i, 0.03, 0.03), look.accent, volume=0.5)
        for side in (-1, 1):
            pen.fill([(side * x, y) for x, y in [(0.16, 0.26), (0.38, 0.24), (0.38, 0.33), (0.16, 0.35)]], look.trim)


def puffer(pen: Pen, rng: Random, look: Look) -> None:
    """A padded jacket: fat horizontal rolls on body and sleeves."""
    hem = rng.uniform(0.6, 0.74)
    for sleeve in (_sleeve(spread := rng.uniform(0.1, 0.3)), flipped(_sleeve(spread))):
        pen.fill(sleeve, look.main, volume=0.55)
        for i in range(1, 6):
            (x0, y0), (x1, y1) = _across(sleeve, i / 6)
            pen.line([(x0, y0), (x1, y1)], 0.022, darker(look.main.colour, 0.5))
    top = -0.62
    rolls = rng.randint(5, 7)
    for i in range(rolls):
        y0, y1 = top + (hem - top) * i / rolls, top + (hem - top) * (i + 1) / rolls
        pen.fill(rounded_box(-0.46 - 0.01 * i, y0, 0.46 + 0.01 * i, y1 + 0.02, 0.09), look.main, volume=0.6)
    pen.fill(rounded_box(-0.24, -0.84, 0.24, -0.58, 0.1), look.trim if rng.random() < 0.5 else look.main, volume=0.5)
    _zip(pen, look.accent, -0.8, hem)


def biker(pen: Pen, rng: Random, look: Look) -> None:
    """A short leather-style jacket with a slanted zip and wide lapels."""
    hem = rng.uniform(0.5, 0.62)
    _sleeves(pen, rng, look.main)
    _torso(pen, look.main, hem, waist=0.42)
    pen.fill([(-0.14, -0.72), (0.14, -0.72), (0.06, -0.3)], look.trim)
    pen.fill([(-0.16, -0.74), (-0.34, -0.5), (-0.26, -0.4), (0.02, -0.2)], look.main, edge=0.65)
    pen.fill([(0.16, -0.74), (0.38, -0.48), (0.3, -0.3), (0.06, -0.16)], look.main, edge=0.65)
    pen.line([(0.14, -0.2), (-0.08, hem - 0.02)], 0.035, look.metal)
    for side, y in ((-1, 0.1), (1, 0.14), (1, -0.06)):
        pen.line([(side * 0.2, y), (side * 0.36, y + 0.12)], 0.028, look.metal)
    pen.fill(mirrored([(0, hem - 0.08), (0.42, hem - 0.08), (0.42, hem + 0.06), (0, hem + 0.06)]), look.main, edge=0.6)
    pen.fill(rounded_box(-0.16, hem - 0.09, 0.0, hem + 0.07, 0.03), look.metal)


def _sleeve(spread: float) -> Outline:
    """The right sleeve, hanging down; `spread` is how far the cuff stands off the body."""
    cuff = 0.56 + spread
    outer = curve([(SHOULDER - 0.06, -0.68), (SHOULDER + 0.1, -0.6), (cuff + 0.08, 0.1), (cuff + 0.12, 0.5)])
    inner = curve([(cuff - 0.1, 0.54), (cuff - 0.18, 0.1), (SHOULDER - 0.06, -0.26)])
    return [*outer, *inner]


def _across(sleeve: Outline, share: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The two edge points of a sleeve, that share of the way from the armpit to the cuff."""
    outer, inner = sleeve[:25], sleeve[25:]
    return outer[round((0.3 + 0.7 * share) * (len(outer) - 1))], inner[round((1 - share) * (len(inner) - 1))]


def _sleeves(pen: Pen, rng: Random, surface: Material, *, cuff: Material | None = None) -> None:
    sleeve = _sleeve(rng.uniform(0.06, 0.34))
    (x0, y0), (x1, y1) = _across(sleeve, 1)
    for mirror in (False, True):
        pen.fill(flipped(sleeve) if mirror else sleeve, surface, volume=0.5)
        if cuff is not None:
            band = [(x0 + 0.01, y0 - 0.02), (x0 + 0.01, y0 + 0.1), (x1 - 0.01, y1 + 0.1), (x1 - 0.01, y1 - 0.02)]
            pen.fill(flipped(band) if mirror else band, cuff)


def _torso(pen: Pen, surface: Material, hem: float, *, waist: float) -> None:
    half = [(0, -0.66), (0.14, -0.74), (SHOULDER, -0.64), (SHOULDER, -0.64), (0.43, -0.2), (waist, hem), (waist, hem),
            (0, hem + 0.02)]  # fmt: skip
    pen.fill(smooth(mirrored(half)), surface, volume=0.4)


def _zip(pen: Pen, metal: Colour, top: float, bottom: float) -> None:
    pen.line([(0, top), (0, bottom)], 0.035, darker(metal, 0.3))
    pen.stitch([(0, top), (0, bottom)], lighter(metal, 0.5), width=0.02)
    pen.fill(rounded_box(-0.03, top + 0.04, 0.03, top + 0.16, 0.02), metal)


def _ribbed(pen: Pen, outline: Outline, surface: Material, middle: float) -> None:
    pen.fill(outline, surface)
    for i in range(-9, 10):
        rib = [(i * 0.046, middle - 0.05), (i * 0.046, middle + 0.04)]
        pen.line(rib, 0.008, darker(surface.colour, 0.35), volume=0)


def _quilting(pen: Pen, surface: Material, hem: float, *, width: float) -> None:
    for i in range(1, 6):
        y = -0.3 + (hem + 0.3) * i / 6
        pen.line(curve([(-width, y), (0, y + 0.03), (width, y)]), 0.02, darker(surface.colour, 0.45))


DESIGNS = (bomber, coat, hoodie, vest, puffer, biker)
