"""Small sets with known faults, and the audit of them without a network."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps

from rigwise.records.audit import AuditReport, Suspect
from rigwise.train.audit.auditing import audit_folder
from rigwise.train.audit.look import Look, look_at
from rigwise.train.audit.plan import AuditPlan
from rigwise.train.pictures.examine import Candidate
from rigwise.train.progress import Silent

CLASSES = ("a", "b", "c", "d", "e")
HUES = {"a": (216, 120, 118), "b": (150, 150, 74), "c": (86, 162, 98), "d": (88, 148, 206), "e": (168, 124, 196)}
"""Of nearly equal L*: what brightness alone cannot tell apart."""


def scene(seed: object, background: tuple[int, int, int] | None = None, size: int = 96) -> Image.Image:
    """Ten shapes of random colour on a background; another seed gives another picture."""
    rng = Random(f"{seed}")
    drawn = tuple(rng.randint(60, 200) for _ in range(3))
    image = Image.new("RGB", (size, size), background or drawn)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0.4 * size, 0.4 * size, 0.5 * size, 0.6 * size), fill="white")
    pen.rectangle((0.5 * size, 0.4 * size, 0.6 * size, 0.6 * size), fill="black")
    for _ in range(10):
        x, y = (rng.uniform(0.15, 0.6) * size for _ in range(2))
        wide, high = (rng.uniform(0.05, 0.25) * size for _ in range(2))
        shape = rng.choice((pen.ellipse, pen.rectangle))
        shape((x, y, x + wide, y + high), fill=tuple(rng.randint(0, 255) for _ in range(3)))
    return image


def draw_set(
    root: Path,
    sizes: Mapping[str, int],
    change: Callable[[Image.Image, str, Random], Image.Image] | None = None,
    suffix: str = "png",
) -> Path:
    """A folder of classes that nothing but their names tells apart, unless `change` does."""
    for name, count in sizes.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            image = scene(f"{root.name}/{name}/{number}")
            image = change(image, name, Random(f"{name}/{number}")) if change else image
            image.save(root / name / f"{number:03}.{suffix}")
    return root


def recoloured(image: Image.Image, colour: tuple[int, int, int]) -> Image.Image:
    """The picture with another colour where its top left pixel's colour is."""
    pixels = np.array(image)
    pixels[(pixels == pixels[0, 0]).all(axis=-1)] = colour
    return Image.fromarray(pixels)


def audited(root: Path, **plan: object) -> AuditReport:
    """The audit without judging labels."""
    return audit_folder(root, AuditPlan(labels=False, **plan), Silent())


def flagged(report: AuditReport) -> set[str]:
    return {each.name for each in report.shortcuts if each.gives_class_away}


def of_kind(report: AuditReport, kind: str) -> list[Suspect]:
    return [each for each in report.suspects if each.kind == kind]


def encoded(image: Image.Image, kind: str = "JPEG", quality: int = 88) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, quality=quality)
    return buffer.getvalue()


def looked_at(content: bytes, path: str = "a/1.jpg", split: str = "train") -> Look:
    return look_at(Candidate(path=path, class_name=path.split("/")[0], split=split), content)


def cropped(image: Image.Image, left: float, top: float, right: float, bottom: float) -> Image.Image:
    """Without that share of each side."""
    width, height = image.size
    return image.crop(
        (round(left * width), round(top * height), round((1 - right) * width), round((1 - bottom) * height))
    )


COPIES: dict[str, Callable[[Image.Image], bytes]] = {
    "encoded again": lambda image: encoded(image, quality=30),
    "another format": lambda image: encoded(image, "PNG"),
    "half the size": lambda image: encoded(image.reduce(2)),
    "twice the size": lambda image: encoded(
        image.resize((image.width * 2, image.height * 2), Image.Resampling.BICUBIC)
    ),
    "mirrored": lambda image: encoded(ImageOps.mirror(image)),
    "5 % cut off every side": lambda image: encoded(cropped(image, 0.05, 0.05, 0.05, 0.05)),
    "10 % cut off two sides": lambda image: encoded(cropped(image, 0.1, 0, 0, 0.1)),
    "a little darker": lambda image: encoded(ImageEnhance.Brightness(image).enhance(0.85)),
    "mirrored, cropped, half the size": lambda image: encoded(
        ImageOps.mirror(cropped(image, 0.05, 0, 0, 0.05)).reduce(2)
    ),
    "a little soft": lambda image: encoded(image.filter(ImageFilter.GaussianBlur(1))),
}
