"""One picture file to pixels: uint8 `(H, W, 3)`, upright, opaque, the same on every machine and thread.

What becomes of the kinds that are not plain 8-bit RGB:

    animated, several pages   the first picture
    transparent               laid on white
    CMYK, YCCK                RGB by Pillow's formula; ICC profiles are ignored
    16 bits per channel       the upper 8 bits
    EXIF orientation          applied
    larger than asked for     averaged down by a whole factor (JPEG: while decoding)

Whatever cannot be decoded to the last row is a `BadPictureError` with the reason in words. Must not import torch.

`H` height, `W` width in pixels.
"""

import os
import re
import stat
import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from io import BytesIO
from math import isqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt
import simplejpeg
from PIL import Image, UnidentifiedImageError

from rigwise.speech import say

Pixels = npt.NDArray[np.uint8]

Image.init()
WANTED = ("JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "AVIF", "PPM", "TGA", "ICO", "JPEG2000", "QOI")
FORMATS = tuple(name for name in WANTED if name in Image.OPEN)
"""What Pillow may try, as far as it is built in. Left out on purpose: EPS and PDF, which start other programs."""

MAX_PIXELS = 2**28 // 3
"""Largest picture held at full size: 89 megapixels, the limit from which Pillow warns of a decompression bomb."""

MAX_FILE_BYTES = 8 * MAX_PIXELS
"""Largest file read: `MAX_PIXELS` of uncompressed 16-bit RGBA."""

ENOUGH_PIXELS = 1024 * 1024
"""Kept at least, unless the caller says otherwise; so less than four times this is returned for ordinary pictures."""

LARGE_PIXELS = 16 * 1024 * 1024
"""From here on one picture at a time is decoded at full size, which bounds the memory of many threads."""

ORIENTATION_TAG = 0x0112

UPRIGHT: dict[int, Callable[[Pixels], Pixels]] = {
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.swapaxes(0, 1),
    6: lambda pixels: np.rot90(pixels, -1),
    7: lambda pixels: pixels[::-1, ::-1].swapaxes(0, 1),
    8: lambda pixels: np.rot90(pixels),
}
"""How to turn a picture of each EXIF orientation upright; 1 is upright already (EXIF 2.3, tag 274)."""

PILLOW_FILTER = ("ignore", None, Warning, re.compile(r"PIL\."), 0)

_one_large_picture = threading.Lock()
_filters = threading.Lock()


class BadPictureError(Exception):
    """A file that is no usable picture; the message is the reason, in words."""


def read_file(path: Path) -> bytes:
    """The bytes of a picture file. Never opens anything but a regular file: a FIFO would hang.

    Raises:
        BadPictureError: it cannot be read, or is no file, empty or too large.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise BadPictureError(say("not a regular file"))
        if status.st_size > MAX_FILE_BYTES:
            raise BadPictureError(say("larger than {limit} MiB", limit=MAX_FILE_BYTES // 2**20))
        return path.read_bytes()
    except OSError as error:
        raise BadPictureError(say("cannot be read: {error}", error=error.strerror)) from error


def decode(path: Path, *, enough_pixels: int = ENOUGH_PIXELS) -> Pixels:
    """The pixels of a picture file, uint8 `(H, W, 3)`; see `decode_bytes`."""
    return decode_bytes(read_file(path), enough_pixels=enough_pixels)


def decode_bytes(content: bytes, *, enough_pixels: int = ENOUGH_PIXELS) -> Pixels:
    """The pixels of a picture file's content, uint8 `(H, W, 3)`, writable and contiguous.

    A picture of at least four times `enough_pixels` comes back smaller, with `enough_pixels` or more.

    Raises:
        BadPictureError: the content is no picture, is damaged or cut off, or is too large.
    """
    _hush_pillow()
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as image:
            is_plain_jpeg = image.format in ("JPEG", "MPO") and image.mode in ("RGB", "L")
            pixels = _fast_jpeg(content, image, enough_pixels) if is_plain_jpeg else None
            if pixels is None:
                pixels = _by_pillow(image, enough_pixels)
            turn = UPRIGHT.get(_orientation(image))
            return np.ascontiguousarray(turn(pixels) if turn else pixels)
    except BadPictureError:
        raise
    except UnidentifiedImageError:
        raise BadPictureError(_what_it_is(content)) from None
    except Exception as error:  # Pillow's plugins raise anything: SyntaxError, struct.error, KeyError
        raise BadPictureError(_in_words(error)) from error


def _fast_jpeg(content: bytes, image: Image.Image, enough_pixels: int) -> Pixels | None:
    """The pixels by libjpeg-turbo, or None where Pillow, which forgives more, should try."""
    width, height = _reduced_size(image, enough_pixels)
    try:
        pixels: Pixels = simplejpeg.decode_jpeg(content, min_width=width, min_height=height)
    except ValueError as error:
        if "premature end" in str(error).lower():
            raise BadPictureError(_truncated()) from error
        return None
    return pixels


def _by_pillow(image: Image.Image, enough_pixels: int) -> Pixels:
    image.draft(image.mode, _reduced_size(image, enough_pixels))  # only JPEG heeds it
    if image.width * image.height > MAX_PIXELS:
        raise BadPictureError(_too_large(image.width, image.height))
    with _one_large_picture if image.width * image.height > LARGE_PIXELS else nullcontext():
        image.load()
        plain = _eight_bit(image)
        plain = plain.convert("RGBA" if plain.has_transparency_data else "RGB")
        factor = _whole_factor(plain, enough_pixels)
        return np.array(_on_white(plain.reduce(factor) if factor > 1 else plain))


def _eight_bit(image: Image.Image) -> Image.Image:
    """`image` with 8 bits per channel; only grey pictures reach us with more, Pillow cuts colour itself."""
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode not in ("I", "F"):
        return image
    values = np.asarray(image)
    white = 65535 if image.mode == "I" else 1.0
    if not (values.min() >= 0 and values.max() <= white):
        raise BadPictureError(say("32-bit values outside 0 to {white}: their brightness is not defined", white=white))
    return Image.fromarray(np.rint(values * (255 / white)).astype(np.uint8))


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")


def _whole_factor(image: Image.Image, enough_pixels: int) -> int:
    """By how much both sides can shrink and leave `enough_pixels`; at least 1, and no side vanishes."""
    factor = isqrt(image.width * image.height // enough_pixels)
    return max(1, min(factor, image.width, image.height))


def _reduced_size(image: Image.Image, enough_pixels: int) -> tuple[int, int]:
    factor = _whole_factor(image, enough_pixels)
    return -(-image.width // factor), -(-image.height // factor)


def _orientation(image: Image.Image) -> int:
    """EXIF orientation of a picture; asked after loading, because Pillow turns some formats itself."""
    try:
        return int(image.getexif().get(ORIENTATION_TAG, 1))
    except Exception:  # damaged EXIF data raises anything; the pixels are fine
        return 1


def _hush_pillow() -> None:
    """Keep Pillow's warnings (damaged EXIF, large picture) from the user: what matters becomes a reason.

    `warnings.catch_warnings` cannot be used here, since it is not safe with threads.
    """
    with _filters:
        if PILLOW_FILTER not in warnings.filters:
            warnings.filterwarnings("ignore", module=r"PIL\.")


def _in_words(error: Exception) -> str:
    if isinstance(error, Image.DecompressionBombError):
        return say("too large for one picture: {error}", error=error)
    if "truncated" in str(error).lower():
        return _truncated()
    return say("damaged: {error}", error=str(error) or type(error).__name__)


def _truncated() -> str:
    return say("truncated: the file ends before the picture does")


def _too_large(width: int, height: int) -> str:
    return say(
        "too large: {width} x {height} pixels, {megapixels} megapixels of at most {limit}",
        width=width,
        height=height,
        megapixels=width * height // 10**6,
        limit=MAX_PIXELS // 10**6,
    )


def _what_it_is(content: bytes) -> str:
    """What a file that is no picture seems to be, in words."""
    start = content[:512].lstrip().lower()
    if not content:
        return say("empty file (0 bytes)")
    if start.startswith((b"<!doctype html", b"<html")):
        return say("an HTML page, not a picture; often a failed download")
    if start.startswith(b"version https://git-lfs"):
        return say("a Git LFS pointer, not the picture itself; fetch it with: git lfs pull")
    if content[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypmsf1", b"ftyphevc"):
        return say("a HEIC picture, which Pillow cannot read; convert it to JPEG")
    if content.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", b"RIFF")):
        return say("damaged or truncated in its header")
    return say("not a picture in a format rigwise reads")
