"""Accessories: sunglasses, hats, scarf, ring, belt, necklace, tie."""

import math
from random import Random

from rigwise.train.embedded.outlines import curve, ellipse, flipped, mirrored, rounded_box, smooth, turned
from rigwise.train.embedded.pen import Pen
from rigwise.train.embedded.textures import Colour, Look, darker, lighter

GEMS: tuple[Colour, ...] = ((222, 236, 244), (60, 120, 214), (196, 40, 62), (46, 158, 96), (150, 88, 190))


def sunglasses(pen: Pen, rng: Random, look: Look) -> None:
    """A pair of sunglasses from the front, temples folded back."""
    wide, high = rng.uniform(0.34, 0.42), rng.uniform(0.26, 0.38)
    shape = rng.choice(("round", "pilot", "box"))
    lens = {
        "round": ellipse(0.46, 0, wide, high),
        "pilot": smooth([(0.1, -0.2), (0.8, -0.22), (0.84, 0.04), (0.56, high + 0.04), (0.2, high - 0.1)]),
        "box": rounded_box(0.46 - wide, -high * 0.8, 0.46 + wide, high * 0.9, 0.12),
    }[shape]
    glass = rng.choice(((34, 36, 42), (86, 56, 36), (40, 60, 92), (60, 84, 60), darker(look.accent, 0.3)))
    for side in (1, -1):
        pen.line([(side * 0.8, -0.14), (side * 0.96, -0.2), (side * 0.98, 0.02)], 0.06, darker(look.main.colour))
        outline = lens if side > 0 else flipped(lens)
        pen.fill(outline, glass, volume=0.35, edge=0)
        pen.shine([(side * 0.46 + x, y) for x, y in ((-0.2, -0.16), (-0.02, -0.18), (-0.16, 0.14), (-0.26, 0.1))], 0.3)
        pen.line([*outline, outline[0]], rng.uniform(0.07, 0.1) if shape != "pilot" else 0.045, look.main)
    pen.line(curve([(-0.14, -0.06), (0, -0.14), (0.14, -0.06)]), 0.07, look.main)


def brimmed_hat(pen: Pen, rng: Random, look: Look) -> None:
    """A fedora or sun hat: crown, ribbon, wide brim."""
    brim = rng.uniform(0.75, 0.95)
    tall = rng.uniform(0.5, 0.75)
    pen.fill(ellipse(0, 0.3, brim, 0.2), look.main, volume=0.4)
    pinch = rng.choice((0.0, 0.1))
    crown = [(0, -tall + 0.24 + pinch), (0.26, -tall + 0.2), (0.42, -tall + 0.4), (0.5, 0.26), (0.5, 0.26), (0.2, 0.36)]
    pen.fill(smooth(mirrored(crown)), look.main, volume=0.5)
    ribbon = [(0.2, 0.15), (0.47, 0.08), (0.47, 0.08), (0.5, 0.26), (0.5, 0.26), (0.2, 0.35)]
    pen.fill(smooth(mirrored(ribbon)), look.trim)
    pen.line(ellipse(0, 0.3, brim, 0.2, 20, 160), 0.03, darker(look.main.colour))


def cap(pen: Pen, rng: Random, look: Look) -> None:
    """A baseball cap, peak to the right."""
    top, reach = rng.uniform(-0.68, -0.48), rng.uniform(0.8, 0.98)
    dome = [(-0.7, 0.2), (-0.7, 0.2), (-0.66, -0.2), (-0.36, top + 0.06), (0, top), (0.3, top + 0.12), (0.46, -0.1),
            (0.46, 0.2), (0.46, 0.2)]  # fmt: skip
    pen.fill(smooth(dome), look.main, volume=0.5)
    for seam in ([(-0.04, top), (0.08, -0.2), (0.1, 0.2)], [(-0.1, top), (-0.4, -0.2), (-0.44, 0.2)]):
        pen.line(curve(seam), 0.014, darker(look.main.colour, 0.5), volume=0)
    pen.fill(ellipse(-0.05, top, 0.06, 0.035), look.trim)
    peak = [
        (0.0, 0.2),
        (0.0, 0.2),
        (0.44, 0.04),
        (0.8 * reach, 0.12),
        (reach, 0.28),
        (reach, 0.28),
        (0.6, 0.2),
        (0.3, 0.22),
    ]
    pen.fill(smooth(peak), look.trim, volume=0.35)
    pen.stitch(curve([(0.2, 0.17), (0.46, 0.1), (0.86 * reach, 0.21)]), lighter(look.trim.colour, 0.5))
    if rng.random() < 0.7:
        pen.fill(ellipse(0.24, -0.16, 0.13, 0.15), look.accent, volume=0.15)


def beanie(pen: Pen, rng: Random, look: Look) -> None:
    """A knitted cap with a folded cuff, often a bobble."""
    top, cuff = rng.uniform(-0.8, -0.6), rng.uniform(0.26, 0.4)
    if rng.random() < 0.6:
        for i in range(14):
            angle = math.tau * i / 14
            pen.line([(0, top), (0.17 * math.cos(angle), top + 0.17 * math.sin(angle))], 0.09, look.accent)
    dome = [(0, top), (0.3, top + 0.08), (0.56, -0.2), (0.62, 0.3), (0.62, 0.3), (0, 0.36)]
    pen.fill(smooth(mirrored(dome)), look.main, volume=0.5)
    for i in range(-4, 5):
        rib = curve([(i * 0.03, top + 0.04), (i * 0.11, -0.2), (i * 0.135, 0.2)])
        pen.line(rib, 0.014, darker(look.main.colour, 0.35), volume=0)
    pen.fill(rounded_box(-0.68, 0.48 - cuff, 0.68, 0.48, 0.1), look.trim, volume=0.45)
    for i in range(-9, 10):
        pen.line([(i * 0.068, 0.54 - cuff), (i * 0.068, 0.42)], 0.014, darker(look.trim.colour, 0.35), volume=0)


def scarf(pen: Pen, rng: Random, look: Look) -> None:
    """A scarf, looped and knotted, ends with a fringe."""
    for x, lean, end in ((-0.16, rng.uniform(-0.3, -0.1), 0.84), (0.16, rng.uniform(0.1, 0.3), rng.uniform(0.5, 0.8))):
        tail = [(x - 0.18, -0.2), (x + 0.18, -0.2), (x + lean + 0.22, end), (x + lean - 0.22, end)]
        for i in range(9):
            left = x + lean - 0.2 + 0.05 * i
            pen.line([(left, end), (left, end + 0.13)], 0.025, look.main)
        pen.fill(tail, look.main, volume=0.4)
        pen.line([(x + lean * 0.84 - 0.21, end - 0.16), (x + lean * 0.84 + 0.21, end - 0.16)], 0.05, look.accent)
    pen.fill(ellipse(0, -0.46, 0.62, 0.36), look.main, volume=0.5)
    pen.fill(ellipse(0, -0.54, 0.38, 0.17), darker(look.main.colour, 0.6))
    for side in (-1, 1):
        fold = ellipse(0, -0.52, 0.5, 0.3, 90 - side * 20, 90 - side * 80)
        pen.line(fold, 0.016, darker(look.main.colour, 0.4), volume=0)
    pen.fill(smooth(rounded_box(-0.24, -0.3, 0.24, 0.02, 0.12)), look.main, volume=0.55)


def ring(pen: Pen, rng: Random, look: Look) -> None:
    """A finger ring set with a cut stone."""
    radius, band = rng.uniform(0.5, 0.6), rng.uniform(0.1, 0.17)
    circle = ellipse(0, 0.28, radius, radius * rng.uniform(0.9, 1.0))
    pen.line(circle, band, look.metal, volume=0.5)
    pen.line(ellipse(0, 0.28, radius, radius, 190, 250), band * 0.25, lighter(look.metal, 0.6), volume=0)
    gem, size = rng.choice(GEMS), rng.uniform(0.22, 0.34)
    top = 0.28 - radius
    pen.fill(mirrored([(size * 0.6, top + 0.08), (size * 0.3, top + 0.16)]), look.metal)
    if rng.random() < 0.5:
        crown = [(0, top - size * 0.95), (size * 0.6, top - size * 0.95), (size, top - size * 0.5), (0, top + 0.12)]
        pen.fill(mirrored(crown), gem, volume=0.4)
        pen.line([(-size, top - size * 0.5), (size, top - size * 0.5)], 0.016, lighter(gem, 0.7), volume=0)
        for x in (-0.4, 0.4):
            pen.line([(x * size, top - size * 0.5), (0, top + 0.1)], 0.014, darker(gem, 0.3), volume=0)
    else:
        pen.fill(ellipse(0, top - size * 0.3, size * 0.8, size * 0.7), gem, volume=0.6)
        pen.fill(ellipse(0, top - size * 0.34, size * 0.42, size * 0.34), lighter(gem, 0.25), volume=0.2, edge=0.2)
    pen.shine(ellipse(-size * 0.3, top - size * 0.5, size * 0.22, size * 0.16), 0.7)


def belt(pen: Pen, rng: Random, look: Look) -> None:
    """A belt, rolled up, or stretched with the buckle in front."""
    if rng.random() < 0.5:
        _rolled_belt(pen, rng, look)
        return
    half = rng.uniform(0.12, 0.18)
    band = [(-0.98, -half), (0, -half - 0.06), (0.98, -half), (0.98, half), (0, half - 0.06), (-0.98, half)]
    pen.fill(smooth(band), look.main)
    for i in range(4):
        pen.fill(ellipse(0.28 + 0.16 * i, -0.04, 0.025, 0.025), darker(look.main.colour, 0.7), edge=0)
    _buckle(pen, look, -0.14, -0.05, half)
    pen.fill(rounded_box(0.14, -half - 0.08, 0.22, half, 0.02), look.main)


def _rolled_belt(pen: Pen, rng: Random, look: Look) -> None:
    high = rng.uniform(0.3, 0.4)
    pen.fill(ellipse(0, -0.3, 0.74, 0.34), darker(look.main.colour, 0.35))
    pen.fill(ellipse(0, -0.3, 0.6, 0.25), darker(look.main.colour, 0.6))
    for share in (0.46, 0.3):
        pen.line(ellipse(0.04, -0.28, share, share * 0.42), 0.05, look.main, volume=0.2)
    front = [*ellipse(0, -0.3, 0.74, 0.34, 0, 180), *ellipse(0, -0.3 + high * 1.2, 0.74, 0.34, 180, 0)]
    pen.fill(front, look.main, volume=0.4)
    _buckle(pen, look, 0, 0.28, 0.2)


def _buckle(pen: Pen, look: Look, x: float, y: float, half: float) -> None:
    frame = rounded_box(x - half * 1.1, y - half * 1.35, x + half * 1.1, y + half * 1.35, 0.06)
    pen.line([*frame, frame[0]], 0.07, look.metal, volume=0.4)
    pen.line([(x - half, y), (x + half * 1.1, y)], 0.04, lighter(look.metal, 0.2))


def necklace(pen: Pen, rng: Random, look: Look) -> None:
    """A chain or a string of beads with a pendant."""
    drop, beads = rng.uniform(0.5, 0.75), rng.random() < 0.5
    bend = (0.35, drop * 0.45)
    line = curve([(-0.5, -0.85), (-0.6, -0.3), (-bend[0], bend[1]), (0, drop * 0.7), bend, (0.6, -0.3), (0.5, -0.85)])
    pen.line(line, 0.025, look.metal)
    size, colour = (rng.uniform(0.05, 0.075), look.accent) if beads else (0.03, look.metal)
    for x, y in line[:: 2 if beads else 3]:
        pen.fill(ellipse(x, y, size, size), colour, volume=0.6)
    _pendant(pen, rng, look.metal, drop * 0.7)


def _pendant(pen: Pen, rng: Random, metal: Colour, y: float) -> None:
    gem = rng.choice(GEMS)
    shape = rng.choice(("drop", "heart", "disc"))
    if shape == "drop":
        drop = [(0, y + 0.02), (0, y + 0.02), (0.14, y + 0.26), (0, y + 0.38), (-0.14, y + 0.26)]
        pen.fill(smooth(drop), gem, volume=0.6)
    elif shape == "heart":
        half = [(0, y + 0.1), (0.1, y + 0.03), (0.2, y + 0.12), (0, y + 0.36), (0, y + 0.36)]
        pen.fill(smooth(mirrored(half)), rng.choice((gem, metal)), volume=0.5)
    else:
        pen.fill(ellipse(0, y + 0.16, 0.15, 0.15), metal, volume=0.5)
        pen.fill(ellipse(0, y + 0.16, 0.08, 0.08), gem, volume=0.5)
    pen.shine(ellipse(-0.04, y + 0.14, 0.05, 0.04), 0.6)


def tie(pen: Pen, rng: Random, look: Look) -> None:
    """A necktie with its knot."""
    wide = rng.uniform(0.2, 0.28)
    back = turned(mirrored([(0.08, -0.6), (0.16, 0.62), (0, 0.76)]), rng.uniform(-14, -6), (0, -0.6))
    pen.fill(back, darker(look.main.colour, 0.25))
    pen.fill(mirrored([(0, -0.62), (0.1, -0.62), (wide, 0.7), (0, 0.95)]), look.main, volume=0.4)
    pen.fill(mirrored([(0, -0.92), (0.17, -0.92), (0.1, -0.58), (0, -0.56)]), look.main, volume=0.5)
    if rng.random() < 0.4:
        pen.line([(-wide * 0.62, 0.14), (wide * 0.5, 0.14)], 0.05, look.metal)


DESIGNS = (sunglasses, brimmed_hat, cap, beanie, scarf, ring, belt, necklace, tie)
