"""What one look at each picture finds: its header, a thumbnail, and a few numbers about light, edges and border.

A JPEG is decoded at 1/2, 1/4 or 1/8 of its size, which still reads the file to its last byte, so that a truncated one
is known. One bad picture is an entry with its reason, never the end. Must not import torch.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image
from PIL.ExifTags import Base

from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable
from rigwise.train.audit.light import blur_effect, lab
from rigwise.train.machine import usable_cores
from rigwise.train.pictures.decode import FORMATS, BadPictureError, Pixels, decode_bytes
from rigwise.train.pictures.examine import Candidate
from rigwise.train.pictures.ordered import in_order
from rigwise.train.pictures.picture_bytes import read_picture
from rigwise.train.pictures.tree import suffix

THUMBNAIL_PX = 64
"""Side of the square thumbnail that copies are recognised by."""
ENOUGH_PIXELS = 160 * 160
"""Decoded at least; a photograph of 12 megapixels is read at 1/8 of its size. Our choice: blur is still seen."""
SHARPNESS_PX = 160
"""Longest side at which blur is judged: near what a network sees, so that blur it cannot see does not count."""
BORDER_SHARE = 0.1
"""Outer part of each side that counts as border (../shared/facts/training.md, section 3, names the same 10 %)."""
CAMERA_TAGS = (Base.Make, Base.Model, Base.Software)


class Look(Candidate, frozen=True, kw_only=True):
    """One picture as the audit sees it."""

    sha256: str
    """Of the file's bytes."""
    file_bytes: int
    width: int
    height: int
    """Pixels, as stored in the file."""
    file_format: str
    """`JPEG`, `PNG` ..., with its colour mode: `JPEG RGB`."""
    camera: str
    """Make, model and software as EXIF names them; "" without EXIF."""
    thumbnail: Pixels
    """uint8 `(64, 64, 3)`, squeezed to a square."""
    border: tuple[float, ...]
    """Quartiles of L*, a*, b* over the outer 10 %: a subject that reaches over a part of it leaves them alone."""
    lightness: tuple[float, float]
    """Mean and standard deviation of L* over the whole picture, 0 to 100."""
    darkest: float
    """5th percentile of grey, 0 to 255."""
    lightest: float
    """99th percentile of grey, 0 to 255."""
    contrast: float
    """Grey levels from the 1st to the 99th percentile."""
    blur_ratio: float
    """0 is sharp, 1 is blurred beyond recognition; see `light.blur_effect`."""


class Looks(msgspec.Struct, kw_only=True):
    """What became of the candidates, in their order."""

    seen: list[Look] = []
    bad: list[BadPicture] = []


Progress = Callable[[int, int], None]


def look_at_all(root: Path, candidates: Sequence[Candidate], progress: Progress | None = None) -> Looks:
    """A look at every candidate, in threads; files without a suffix that are no pictures are passed over."""
    looks = Looks()
    threads = usable_cores()
    with closing(in_order(partial(_look, root), candidates, num_threads=threads, ahead=8 * threads)) as outcomes:
        for done, (candidate, outcome) in enumerate(zip(candidates, outcomes, strict=True), start=1):
            if isinstance(outcome, Look):
                looks.seen.append(outcome)
            elif suffix(candidate.path):
                looks.bad.append(outcome)
            if progress:
                progress(done, len(candidates))
    return looks


def _look(root: Path, candidate: Candidate) -> Look | BadPicture:
    try:
        return look_at(candidate, read_picture(root, candidate.path, candidate.inside))
    except BadPictureError as error:
        return BadPicture(path=printable(candidate.path), reason=str(error))


def look_at(candidate: Candidate, content: bytes) -> Look:
    """What a picture file's content shows.

    Raises:
        BadPictureError: the content is no picture, or is damaged.
    """
    pixels = decode_bytes(content, enough_pixels=ENOUGH_PIXELS)
    image = Image.fromarray(pixels)
    thumbnail = np.asarray(image.resize((THUMBNAIL_PX, THUMBNAIL_PX), Image.Resampling.BOX))
    image.thumbnail((SHARPNESS_PX, SHARPNESS_PX), Image.Resampling.BOX)
    grey = np.asarray(image.convert("L"), dtype=np.float32)
    colours = lab(thumbnail)
    first, darkest, lightest = np.percentile(grey, (1, 5, 99))
    width, height, file_format, camera = _header(content)
    return Look(
        **msgspec.structs.asdict(candidate),
        sha256=sha256(content).hexdigest(),
        file_bytes=len(content),
        width=width,
        height=height,
        file_format=file_format,
        camera=camera,
        thumbnail=thumbnail,
        border=tuple(np.percentile(colours[border_mask(THUMBNAIL_PX)], (25, 50, 75), axis=0).ravel().tolist()),
        lightness=(float(colours[..., 0].mean()), float(colours[..., 0].std())),
        darkest=float(darkest),
        lightest=float(lightest),
        contrast=float(lightest - first),
        blur_ratio=blur_effect(grey),
    )


def border_mask(side: int) -> np.ndarray:
    """True in the outer 10 % of a square picture, `(side, side)`."""
    inner = round(side * BORDER_SHARE)
    mask = np.ones((side, side), dtype=bool)
    mask[inner : side - inner, inner : side - inner] = False
    return mask


def _header(content: bytes) -> tuple[int, int, str, str]:
    """Width, height, format and camera; the file is known to open."""
    with Image.open(BytesIO(content), formats=FORMATS) as image:
        try:
            exif = image.getexif()
            camera = " ".join(printable(str(exif[tag]).strip("\0 ")) for tag in CAMERA_TAGS if tag in exif)
        except Exception:  # damaged EXIF data raises anything; the picture is fine
            camera = ""
        return image.width, image.height, f"{image.format} {image.mode}", camera
