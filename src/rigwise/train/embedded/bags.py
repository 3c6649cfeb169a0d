"""Bags from the front: tote, backpack, handbag, clutch, duffel."""

from random import Random

from rigwise.train.embedded.outlines import curve, ellipse, mirrored, moved, rounded_box, smooth
from rigwise.train.embedded.pen import Pen
from rigwise.train.embedded.textures import Look, darker, lighter


def tote(pen: Pen, rng: Random, look: Look) -> None:
    """An open bag with two long loops to carry it by."""
    wide, drop = rng.uniform(0.55, 0.72), rng.uniform(0.5, 0.75)
    grip = rng.uniform(0.24, 0.34)
    loop = [(-grip, -0.12), (-grip * 0.9, -drop), (-grip * 0.4, -drop - 0.16), (grip * 0.4, -drop - 0.16),
            (grip * 0.9, -drop), (grip, -0.12)]  # fmt: skip
    pen.line(moved(curve(loop), 0.04, -0.08), 0.07, darker(look.trim.colour, 0.45))
    pen.fill(mirrored([(0, -0.2), (wide, -0.2), (wide + 0.02, -0.12), (0, -0.12)]), darker(look.main.colour, 0.55))
    taper = rng.uniform(-0.12, 0.1)
    corner = [(wide - taper, 0.76), (wide - taper - 0.05, 0.82), (0, 0.82)]
    pen.fill(mirrored([(0, -0.16), (wide, -0.18), *corner]), look.main)
    pen.line(curve(loop), 0.075, look.trim)
    for x in (-grip, grip):
        pen.fill(rounded_box(x - 0.07, -0.18, x + 0.07, 0.04, 0.02), look.trim)
        pen.stitch(rounded_box(x - 0.05, -0.1, x + 0.05, 0.02, 0.02), lighter(look.trim.colour, 0.5))
    pen.stitch([(-wide, -0.08), (wide, -0.08)], lighter(look.main.colour, 0.5))
    decoration = rng.choice(("pocket", "disc", "band", "none"))
    if decoration == "pocket":
        pen.fill(rounded_box(-0.3, 0.2, 0.3, 0.62, 0.06), look.trim)
        pen.stitch([(-0.26, 0.28), (0.26, 0.28)], lighter(look.trim.colour, 0.5))
    elif decoration == "disc":
        pen.fill(ellipse(0, 0.34, 0.2, 0.2), look.accent, volume=0.1)
    elif decoration == "band":
        pen.fill(mirrored([(0, 0.5), (wide - taper * 0.7, 0.5), *corner]), look.trim)


def backpack(pen: Pen, rng: Random, look: Look) -> None:
    """A rucksack: rounded top, front pocket, straps at the sides."""
    for side in (-1, 1):
        strap = [(side * 0.4, -0.7), (side * 0.74, -0.4), (side * 0.78, 0.2), (side * 0.5, 0.7)]
        pen.line(curve(strap), 0.12, look.trim)
        pen.fill(moved(rounded_box(-0.16, 0.1, 0.16, 0.7, 0.1), side * 0.54, 0), look.trim)
    pen.line(curve([(-0.16, -0.8), (-0.12, -0.98), (0.12, -0.98), (0.16, -0.8)]), 0.06, darker(look.trim.colour))
    body = [(0, -0.88), (0.3, -0.85), (0.52, -0.62), (0.58, 0), (0.6, 0.6), (0.5, 0.82), (0, 0.85)]
    pen.fill(smooth(mirrored(body)), look.main, volume=0.5)
    seam = curve([(-0.52, -0.1), (-0.46, -0.5), (-0.2, -0.72), (0.2, -0.72), (0.46, -0.5), (0.52, -0.1)])
    if rng.random() < 0.5:
        pen.line(seam, 0.035, darker(look.main.colour, 0.55))
        pen.line([(0.46, -0.46), (0.52, -0.3)], 0.05, look.metal)
    else:
        lid = [(-0.5, -0.66), (-0.2, -0.9), (0.2, -0.9), (0.5, -0.66), (0.48, -0.2), (0, -0.08), (-0.48, -0.2)]
        pen.fill(smooth(lid), look.trim)
        for x in (-0.24, 0.24):
            pen.line([(x, -0.3), (x, 0.2)], 0.06, look.accent)
            pen.fill(rounded_box(x - 0.06, -0.02, x + 0.06, 0.1, 0.02), look.metal)
    pen.fill(rounded_box(-0.42, 0.18, 0.42, 0.74, 0.14), look.main, volume=0.5)
    pen.line(curve([(-0.36, 0.36), (0, 0.3), (0.36, 0.36)]), 0.03, darker(look.main.colour, 0.6))
    if rng.random() < 0.5:
        pen.fill(rounded_box(-0.1, 0.46, 0.1, 0.6, 0.03), look.accent)


def handbag(pen: Pen, rng: Random, look: Look) -> None:
    """A framed bag: one arched handle, a flap or a clasp."""
    wide, high = rng.uniform(0.62, 0.85), rng.uniform(0.5, 0.62)
    arch = rng.uniform(0.5, 0.8)
    handle = curve([(-0.34, -0.06), (-0.32, -arch * 0.7), (0, -arch - 0.1), (0.32, -arch * 0.7), (0.34, -0.06)])
    pen.line(handle, rng.uniform(0.06, 0.1), look.trim)
    taper = rng.uniform(0.02, 0.2)
    body = [(0, -0.1), (wide - taper, -0.1), (wide, high), (wide - 0.1, high + 0.14), (0, high + 0.16)]
    pen.fill(smooth(mirrored([(x, y) for x, y in body for _ in range(2)]), steps=4), look.main, volume=0.45)
    for x in (-0.34, 0.34):
        pen.fill(ellipse(x, -0.06, 0.06, 0.06), look.metal)
    closing = rng.choice(("flap", "zip", "lock"))
    if closing == "flap":
        edge = wide - taper
        flap = [(0, -0.12), (edge, -0.12), (edge, -0.12), (edge, 0.14), (0.3, 0.34), (0, 0.38)]
        pen.fill(smooth(mirrored(flap)), look.trim)
        pen.fill(rounded_box(-0.08, 0.28, 0.08, 0.46, 0.04), look.metal)
    elif closing == "zip":
        pen.line([(-wide + taper + 0.05, -0.02), (wide - taper - 0.05, -0.02)], 0.035, look.metal)
        pen.stitch([(-wide + 0.05, high), (wide - 0.05, high)], lighter(look.main.colour, 0.5))
        pen.line([(0.2, 0), (0.24, 0.16)], 0.05, look.accent)
    else:
        pen.fill(mirrored([(0, -0.12), (wide - taper, -0.12), (wide - taper + 0.02, 0.04), (0, 0.04)]), look.trim)
        pen.fill(rounded_box(-0.1, -0.04, 0.1, 0.16, 0.04), look.metal)
        pen.fill(ellipse(0, 0.08, 0.025, 0.035), (40, 36, 32))


def clutch(pen: Pen, rng: Random, look: Look) -> None:
    """A flat purse with an envelope flap, on a wrist loop or a chain."""
    high = rng.uniform(0.34, 0.48)
    if rng.random() < 0.6:
        chain = curve([(-0.82, -high + 0.1), (-0.6, -0.75), (0, -0.9), (0.6, -0.75), (0.82, -high + 0.1)])
        for x, y in chain[::2]:
            pen.fill(ellipse(x, y, 0.035, 0.035), look.metal)
    else:
        pen.line(curve([(0.8, 0.1), (0.98, 0.3), (0.94, 0.7), (0.8, 0.6), (0.8, 0.15)]), 0.06, look.trim)
    pen.fill(rounded_box(-0.86, -high, 0.86, high, 0.08), look.main)
    tip = rng.uniform(0.0, 0.22)
    flap = [(0, -high), (0.86, -high + 0.02), (0.84, -high + 0.1), (0.1, tip), (0, tip + 0.04)]
    if rng.random() < 0.4:
        flap = [(0, -high), (0.86, -high + 0.02), (0.86, tip - 0.1), (0.78, tip), (0, tip + 0.02)]
    pen.fill(mirrored(flap), look.trim if rng.random() < 0.5 else look.main, volume=0.3)
    pen.stitch([(-0.8, high - 0.06), (0.8, high - 0.06)], lighter(look.main.colour, 0.5))
    pen.fill(ellipse(0, tip - 0.02, 0.08, 0.08), look.metal, volume=0.5)


def duffel(pen: Pen, rng: Random, look: Look) -> None:
    """A sports bag: a lying cylinder with two webbing straps."""
    high = rng.uniform(0.36, 0.46)
    grip = rng.uniform(0.22, 0.34)
    pen.line(curve([(-0.8, -0.1), (-0.6, -0.7), (0, -0.86), (0.6, -0.7), (0.8, -0.1)]), 0.05, darker(look.trim.colour))
    pen.fill(rounded_box(-0.95, -high + 0.08, 0.95, high + 0.16, 0.26), look.main, volume=0.55)
    for side in (-1, 1):
        cap = [(side * 0.7, -high + 0.1), (side * 0.7, -high + 0.1), (side * 0.92, -0.1), (side * 0.94, 0.2),
               (side * 0.86, high + 0.1), (side * 0.7, high + 0.16), (side * 0.7, high + 0.16)]  # fmt: skip
        pen.fill(smooth(cap), look.trim, volume=0.45)
    pen.line([(-0.66, -high + 0.16), (0.66, -high + 0.16)], 0.04, darker(look.main.colour, 0.6))
    for x in (-grip, grip):
        pen.line([(x, -high + 0.2), (x, high + 0.12)], 0.08, look.trim)
    handles = [(-grip, -0.2), (-grip * 0.8, -high - 0.26), (grip * 0.8, -high - 0.26), (grip, -0.2)]
    pen.line(curve(handles), 0.08, look.trim)
    pen.fill(rounded_box(-0.1, -high - 0.34, 0.1, -high - 0.18, 0.05), look.accent)
    if rng.random() < 0.6:
        pen.fill(rounded_box(-grip + 0.06, 0.1, grip - 0.06, 0.36, 0.04), look.accent, volume=0.2)


DESIGNS = (tote, backpack, handbag, clutch, duffel)
