"""Shoes from the side, toe to the right: sneaker, boot, heel, sandal, loafer."""

from random import Random

from rigwise.train.embedded.outlines import curve, ellipse, rounded_box, smooth
from rigwise.train.embedded.pen import Pen
from rigwise.train.embedded.textures import Colour, Look, darker, lighter

RUBBER: tuple[Colour, ...] = ((238, 236, 228), (44, 42, 42), (180, 128, 82), (222, 204, 168))


def sneaker(pen: Pen, rng: Random, look: Look) -> None:
    """A trainer: laces, stripe, thick pale sole; sometimes high at the ankle."""
    collar = rng.choice((-0.28, -0.28, -0.62))
    sole = rng.choice(RUBBER)
    thick = rng.uniform(0.14, 0.24)
    tongue = [(-0.55, collar), (-0.2, collar - 0.14), (-0.1, collar + 0.1), (-0.4, 0.1)]
    pen.fill(smooth(tongue), darker(look.trim.colour))
    upper = [(-0.82, 0.32), (-0.82, 0.32), (-0.8, 0), (-0.74, collar), (-0.74, collar), (-0.5, collar + 0.12),
             (-0.2, collar - 0.04), (-0.2, collar - 0.04), (0.02, -0.12), (0.3, 0.02), (0.7, 0.1), (0.91, 0.24),
             (0.92, 0.34), (0.92, 0.34)]  # fmt: skip
    pen.fill(smooth(upper), look.main)
    toe = [(0.46, 0.34), (0.46, 0.34), (0.5, 0.18), (0.66, 0.1), (0.91, 0.24), (0.92, 0.34), (0.92, 0.34)]
    pen.fill(smooth(toe), look.trim)
    counter = [(-0.82, 0.34), (-0.82, 0.34), (-0.8, -0.02), (-0.64, 0.02), (-0.52, 0.18), (-0.52, 0.34), (-0.52, 0.34)]
    pen.fill(smooth(counter), look.trim)
    _sneaker_mark(pen, rng, look)
    for i in range(4):
        x, y = -0.16 + 0.13 * i, collar * (1 - i / 4) * 0.9 - 0.05 + 0.02 * i
        pen.line([(x, y + 0.14), (x + 0.1, y)], 0.045, lighter(sole, 0.5))
    pen.fill(rounded_box(-0.86, 0.32, 0.95, 0.32 + thick, 0.1), sole, volume=0.25)
    pen.line([(-0.84, 0.32 + thick * 0.55), (0.93, 0.32 + thick * 0.55)], 0.025, look.accent)


def _sneaker_mark(pen: Pen, rng: Random, look: Look) -> None:
    kind = rng.choice(("swoosh", "bars", "dot", "none"))
    if kind == "swoosh":
        swoosh = [(-0.55, 0.12), (-0.42, 0.22), (-0.1, 0.12), (0.34, 0.06), (-0.1, 0.24), (-0.45, 0.3)]
        pen.fill(smooth(swoosh), look.accent)
    elif kind == "bars":
        for i in range(3):
            pen.line([(-0.3 + 0.16 * i, 0.26), (-0.16 + 0.16 * i, 0.0 + 0.02 * i)], 0.06, look.accent)
    elif kind == "dot":
        pen.fill(ellipse(-0.35, 0.1, 0.11, 0.11), look.accent)


def boot(pen: Pen, rng: Random, look: Look) -> None:
    """A boot: a tall shaft, a heel block, and laces or an elastic side."""
    top = rng.uniform(-0.95, -0.6)
    heel = rng.uniform(0.1, 0.2)
    sole = rng.choice(RUBBER[1:])
    pen.fill(smooth([(-0.6, top), (-0.2, top - 0.06), (0.08, top), (-0.2, top + 0.1)]), darker(look.trim.colour, 0.5))
    shaft = [(-0.62, top), (-0.62, top), (-0.2, top + 0.06), (0.1, top), (0.1, top), (0.1, -0.2), (0.16, -0.02),
             (0.5, 0.12), (0.84, 0.26), (0.88, 0.5), (0.88, 0.5), (-0.64, 0.5), (-0.64, 0.5), (-0.66, 0.2),
             (-0.56, -0.2)]  # fmt: skip
    pen.fill(smooth(shaft), look.main, volume=0.45)
    if rng.random() < 0.5:
        for i in range(6):
            y = top + 0.16 + (0.06 - top) * 0.14 * i
            pen.line([(-0.08, y), (0.08, y - 0.05)], 0.035, look.accent)
        pen.stitch(curve([(-0.16, top + 0.1), (-0.14, -0.2), (0.02, 0.1), (0.3, 0.2)]), lighter(look.main.colour))
    else:
        gusset = [(-0.38, top + 0.06), (-0.38, top + 0.06), (-0.08, top + 0.06), (-0.08, top + 0.06), (-0.12, -0.16),
                  (-0.22, -0.06), (-0.34, -0.16)]  # fmt: skip
        pen.fill(smooth(gusset), darker(look.main.colour, 0.4), volume=0.2)
        pen.line([(-0.6, top - 0.1), (-0.6, top + 0.1)], 0.06, look.trim)
    pen.stitch(curve([(-0.6, 0.3), (-0.2, 0.28), (-0.1, 0.48)]), lighter(look.main.colour))
    pen.fill(rounded_box(-0.68, 0.5, 0.92, 0.6, 0.05), sole)
    pen.fill([(-0.68, 0.58), (-0.2, 0.58), (-0.24, 0.6 + heel), (-0.66, 0.6 + heel)], sole)
    pen.fill([(0.1, 0.58), (0.9, 0.58), (0.86, 0.66), (0.14, 0.66)], sole)


def heel(pen: Pen, rng: Random, look: Look) -> None:
    """A court shoe on a high heel."""
    rise = rng.uniform(0.7, 1.0)
    width = rng.choice((0.05, 0.08, 0.16))
    seat = 0.5 - 0.55 * rise
    stem = [(-0.78, seat - 0.02), (-0.4, seat + 0.1), (-0.66 + width, 0.6), (-0.68 - width / 2, 0.6)]
    pen.fill(stem, look.trim, volume=0.4)
    lining = [(-0.74, seat - 0.22), (-0.3, seat + 0.02), (0.3, 0.28), (0.1, 0.36), (-0.4, seat + 0.12)]
    pen.fill(smooth(lining), darker(look.trim.colour))
    upper = [(-0.82, seat + 0.06), (-0.8, seat - 0.3), (-0.8, seat - 0.3), (-0.6, seat - 0.12), (-0.2, seat + 0.2),
             (0.15, 0.34), (0.3, 0.2), (0.3, 0.2), (0.62, 0.34), (0.95, 0.55), (0.95, 0.55), (0.5, 0.58), (0.1, 0.5),
             (-0.4, seat + 0.2)]  # fmt: skip
    pen.fill(smooth(upper), look.main, volume=0.45)
    pen.line(curve([(0.93, 0.56), (0.5, 0.58), (0.1, 0.5), (-0.4, seat + 0.2)]), 0.035, darker(look.main.colour, 0.6))
    decoration = rng.choice(("strap", "bow", "none"))
    if decoration == "strap":
        strap = [(-0.78, seat - 0.26), (-0.5, seat - 0.42), (-0.3, seat - 0.3), (-0.25, seat + 0.1)]
        pen.line(curve(strap), 0.05, look.main)
    elif decoration == "bow":
        pen.fill(smooth([(0.36, 0.22), (0.2, 0.1), (0.22, 0.3)]), look.accent)
        pen.fill(smooth([(0.36, 0.22), (0.52, 0.14), (0.5, 0.34)]), look.accent)
    pen.shine(smooth([(0.45, 0.36), (0.7, 0.42), (0.6, 0.46), (0.42, 0.42)]))


def sandal(pen: Pen, rng: Random, look: Look) -> None:
    """A sandal: flat or wedge, bands over the toes, a strap round the ankle."""
    wedge, flat = rng.uniform(0.14, 0.42), rng.uniform(0.12, 0.18)
    lift = flat - wedge
    strap = rng.uniform(0.06, 0.1)
    ankle = (-0.5, lift - 0.1, 0.32, 0.11)
    pen.line(ellipse(*ankle, 180, 360), strap, darker(look.main.colour))
    if rng.random() < 0.5:
        pen.line(curve([(-0.2, lift - 0.08), (0.08, lift * 0.4 + 0.12), (0.36, 0.16)]), strap, look.main)
    back = [(-0.86, lift + 0.34), (-0.86, lift + 0.34), (-0.84, lift - 0.08), (-0.76, lift - 0.14), (-0.6, lift),
            (-0.48, lift + 0.34), (-0.48, lift + 0.34)]  # fmt: skip
    pen.fill(smooth(back), look.main, volume=0.45)
    pen.line(ellipse(*ankle, 0, 180), strap, look.main)
    pen.fill(rounded_box(-0.38, lift - 0.06, -0.24, lift + 0.08, 0.03), look.metal)
    if rng.random() < 0.5:
        band = [(0.1, 0.4), (0.1, 0.4), (0.22, 0.08), (0.48, -0.02), (0.7, 0.12), (0.76, 0.4), (0.76, 0.4)]
        pen.fill(smooth(band), look.main, volume=0.45)
    else:
        for x in (0.2, 0.44, 0.64):
            pen.line(ellipse(x, 0.38, 0.15, 0.42 - 0.2 * x, 180, 360), strap * 1.4, look.main)
    top = [(-0.9, lift + 0.3), (-0.4, lift + 0.3), (0.0, lift * 0.4 + 0.32), (0.4, 0.36), (0.94, 0.34), (0.94, 0.34)]
    sole = [*top, (0.82, 0.36 + flat), (0.3, 0.36 + flat), (-0.84, 0.36 + flat), (-0.84, 0.36 + flat), top[0]]
    pen.fill(smooth(sole), rng.choice(RUBBER))
    pen.line(curve(top[:-1]), 0.06, look.trim)


def loafer(pen: Pen, rng: Random, look: Look) -> None:
    """A slip-on: low opening, raised apron, a band or a buckle across."""
    sole = rng.choice(RUBBER[1:])
    back, toe, lift = rng.uniform(-0.3, -0.16), rng.uniform(0.84, 0.97), rng.uniform(0.52, 0.64)
    pen.fill(smooth([(-0.7, back + 0.06), (-0.3, -0.1), (0.12, -0.06), (-0.3, 0.14)]), darker(look.trim.colour, 0.4))
    upper = [(-0.84, 0.38), (-0.84, 0.38), (-0.84, 0.1), (-0.78, back), (-0.78, back), (-0.5, 0.0), (-0.14, 0.06),
             (0.06, -0.18), (0.06, -0.18), (0.4, -0.04), (toe - 0.17, 0.1), (toe, 0.28), (toe - 0.02, 0.4),
             (toe - 0.02, 0.4)]  # fmt: skip
    pen.fill(smooth(upper), look.main, volume=0.45)
    apron = [(0.02, 0.16), (0.1, -0.12), (0.5, 0.0), (toe - 0.19, 0.14), (0.5, 0.16)]
    pen.fill(smooth(apron), lighter(look.main.colour, 0.12), volume=0.4)
    pen.fill(smooth([(-0.02, 0.26), (0.1, -0.14), (0.1, -0.14), (0.28, -0.08), (0.28, -0.08), (0.2, 0.3)]), look.trim)
    if rng.random() < 0.5:
        pen.line([(0.1, 0.06), (0.24, 0.1)], 0.06, look.metal)
    pen.stitch(curve([(-0.8, 0.16), (-0.4, 0.14), (0.0, 0.26)]), lighter(look.main.colour, 0.4))
    pen.fill(rounded_box(-0.86, 0.38, toe, 0.47, 0.04), sole)
    pen.fill([(-0.86, 0.44), (-0.4, 0.44), (-0.42, lift), (-0.85, lift)], sole)


DESIGNS = (sneaker, boot, heel, sandal, loafer)
