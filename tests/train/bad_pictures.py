"""Every odd picture a user's folder may hold, made by real encoders: those that must be read, those that must not."""

import io
import os
import struct
import threading
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import simplejpeg
from PIL import Image

ORIENTATION_TAG = 0x0112


def photo(seed: int = 0, width: int = 96, height: int = 64) -> Image.Image:
    """A smooth, colourful picture; another seed gives other pixels."""
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 12, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    """The file content of `image` in Pillow's format `kind`."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def make_class(folder: Path, seeds: Sequence[int], kind: str = "PNG") -> None:
    """A class folder with one small picture for each seed."""
    for seed in seeds:
        write(folder / f"{seed:05d}.{kind.lower()}", encoded(photo(seed, 24, 16), kind))


def jpeg() -> bytes:
    return encoded(photo(), "JPEG", quality=90)


def cmyk_jpeg() -> bytes:
    """Adobe's inverted CMYK, as Photoshop and Pillow write it."""
    return encoded(photo().convert("CMYK"), "JPEG", quality=95)


def ycck_jpeg() -> bytes:
    """CMYK pixels stored as YCCK, which only libjpeg-turbo writes here; inverted as Adobe does."""
    inverted = 255 - np.asarray(photo().convert("CMYK"))
    return simplejpeg.encode_jpeg(np.ascontiguousarray(inverted), colorspace="CMYK", quality=95)


def rotated_jpeg(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    return encoded(photo(), "JPEG", quality=90, exif=exif)


def damaged_exif_jpeg() -> bytes:
    return encoded(photo(), "JPEG", quality=90, exif=b"Exif\x00\x00II*\x00\xff\xff\xff\x00garbage")


def grey_16_bit(kind: str) -> bytes:
    """A ramp over all 16 bits: clipping would turn nearly all of it white."""
    ramp = np.linspace(0, 65535, 96 * 64).astype(np.uint16).reshape(64, 96)
    return encoded(Image.fromarray(ramp), kind)


def palette_with_transparency() -> bytes:
    image = photo().quantize(16)
    image.info["transparency"] = bytes([0, 128] + [255] * 14)
    return encoded(image, "PNG")


def half_transparent() -> bytes:
    """Left half opaque red, right half invisible black."""
    pixels = np.zeros((64, 96, 4), dtype=np.uint8)
    pixels[:, :48] = (255, 0, 0, 255)
    return encoded(Image.fromarray(pixels), "PNG")


def animated(kind: str) -> bytes:
    return encoded(photo(0), kind, save_all=True, append_images=[photo(1), photo(2)], duration=50)


def float_tiff(top: float) -> bytes:
    ramp = np.linspace(0, top, 96 * 64, dtype=np.float32).reshape(64, 96)
    return encoded(Image.fromarray(ramp), "TIFF")


def png_that_claims(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header promises a huge picture: a decompression bomb."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def without_end(content: bytes, kept: float) -> bytes:
    return content[: int(len(content) * kept)]


READABLE: dict[str, Callable[[], bytes]] = {
    "plain.jpg": jpeg,
    "progressive.jpg": lambda: encoded(photo(), "JPEG", progressive=True),
    "grey.jpg": lambda: encoded(photo().convert("L"), "JPEG"),
    "cmyk.jpg": cmyk_jpeg,
    "ycck.jpg": ycck_jpeg,
    "rotated.jpg": lambda: rotated_jpeg(6),
    "damaged exif.jpg": damaged_exif_jpeg,
    "junk after the end.jpg": lambda: jpeg() + b"\x00" * 100,
    "a png.jpg": lambda: encoded(photo(), "PNG"),
    "a jpeg.png": jpeg,
    "16 bit.png": lambda: grey_16_bit("PNG"),
    "16 bit.tif": lambda: grey_16_bit("TIFF"),
    "16 bit.pgm": lambda: grey_16_bit("PPM"),
    "float.tif": lambda: float_tiff(1.0),
    "palette.png": lambda: encoded(photo().quantize(16), "PNG"),
    "palette with transparency.png": palette_with_transparency,
    "transparent.png": half_transparent,
    "grey and alpha.png": lambda: encoded(photo().convert("LA"), "PNG"),
    "1 bit.png": lambda: encoded(photo().convert("1"), "PNG"),
    "animated.gif": lambda: animated("GIF"),
    "animated.webp": lambda: animated("WEBP"),
    "animated.png": lambda: animated("PNG"),
    "pages.tif": lambda: encoded(photo(), "TIFF", save_all=True, append_images=[photo(1)]),
    "cmyk.tif": lambda: encoded(photo().convert("CMYK"), "TIFF"),
    "plain.bmp": lambda: encoded(photo(), "BMP"),
    "one pixel.png": lambda: encoded(photo(0, 1, 1), "PNG"),
    "one line.png": lambda: encoded(photo(0, 3000, 1), "PNG"),
}

UNREADABLE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty.jpg": (lambda: b"", "empty file (0 bytes)"),
    "half.jpg": (lambda: without_end(jpeg(), 0.5), "truncated"),
    "no end marker.jpg": (lambda: jpeg()[:-2], "truncated"),
    "half progressive.jpg": (lambda: without_end(encoded(photo(), "JPEG", progressive=True), 0.5), "truncated"),
    "half cmyk.jpg": (lambda: without_end(cmyk_jpeg(), 0.5), "truncated"),
    "end marker halfway.jpg": (lambda: without_end(jpeg(), 0.5) + b"\xff\xd9", "truncated"),
    "stub.jpg": (lambda: jpeg()[:20], "truncated"),
    "half.png": (lambda: without_end(encoded(photo(), "PNG"), 0.5), "truncated"),
    "stub.png": (lambda: encoded(photo(), "PNG")[:20], "truncated"),
    "flipped bits.png": (lambda: encoded(photo(), "PNG").replace(b"IDAT", b"IDAt"), "damaged"),
    "half.gif": (lambda: without_end(encoded(photo(), "GIF"), 0.5), "truncated"),
    "half.webp": (lambda: without_end(encoded(photo(), "WEBP"), 0.5), "damaged"),
    "half.bmp": (lambda: without_end(encoded(photo(), "BMP"), 0.5), "truncated"),
    "half.tif": (lambda: without_end(encoded(photo(), "TIFF"), 0.5), "truncated"),
    "html.jpg": (lambda: b"\n<!DOCTYPE html><html><body>404</body></html>", "HTML page"),
    "pointer.jpg": (lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
    "phone.heic": (lambda: b"\x00\x00\x00\x18ftypheic" + bytes(200), "HEIC"),
    "text.png": (lambda: b"not a picture at all", "not a picture"),
    "noise.jpg": (lambda: np.random.default_rng(0).bytes(4000), "not a picture"),
    "script.jpg": (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n", "not a picture"),
    "bomb.png": (lambda: png_that_claims(60_000, 60_000), "too large"),
    "large.png": (lambda: png_that_claims(10_000, 10_000), "too large: 10000 x 10000 pixels"),
    "bright.tif": (lambda: float_tiff(400.0), "not defined"),
}


def make_fifo(path: Path) -> None:
    """A pipe without a writer: whoever opens it hangs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def picture_threads() -> list[threading.Thread]:
    """Threads of ours that still run."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("rigwise-pictures")]
