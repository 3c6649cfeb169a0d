"""One picture file to pixels: every odd kind is read right, or refused with its reason."""

import io
import os
import re
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps
from train import bad_pictures as odd

from rigwise.train.pictures import decode as decoding
from rigwise.train.pictures.decode import BadPictureError, Pixels, decode, decode_bytes


def rgb(image: Image.Image) -> Pixels:
    return np.asarray(image.convert("RGB"))


def difference(left: Pixels, right: Pixels) -> float:
    assert left.shape == right.shape
    return float(np.abs(left.astype(int) - right.astype(int)).mean())


@pytest.mark.parametrize("name", odd.READABLE)
def test_readable_picture_becomes_rgb(name: str, tmp_path: Path) -> None:
    pixels = decode(odd.write(tmp_path / name, odd.READABLE[name]()))
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3
    assert pixels.shape[2] == 3
    assert pixels.flags.c_contiguous
    assert pixels.flags.writeable


@pytest.mark.parametrize("name", odd.UNREADABLE)
def test_unreadable_picture_says_why(name: str, tmp_path: Path) -> None:
    make, reason = odd.UNREADABLE[name]
    with pytest.raises(BadPictureError, match=re.escape(reason)) as refused:
        decode(odd.write(tmp_path / name, make()))
    assert "object at 0x" not in str(refused.value)


@pytest.mark.parametrize("name", ["cmyk.jpg", "ycck.jpg", "cmyk.tif", "animated.gif", "animated.webp", "animated.png"])
def test_colours_are_those_of_the_first_picture(name: str) -> None:
    assert difference(decode_bytes(odd.READABLE[name]()), rgb(odd.photo())) < 12


def test_jpeg_equals_pillow() -> None:
    content = odd.jpeg()
    np.testing.assert_array_equal(decode_bytes(content), rgb(Image.open(io.BytesIO(content))))


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_16_bit_is_scaled_not_clipped(kind: str) -> None:
    pixels = decode_bytes(odd.grey_16_bit(kind))
    assert (pixels.min(), pixels.max()) == (0, 255)
    assert pixels.mean() == pytest.approx(127.5, abs=1)


def test_float_from_0_to_1_is_scaled() -> None:
    assert decode_bytes(odd.float_tiff(1.0)).mean() == pytest.approx(127.5, abs=1)


def test_transparency_is_laid_on_white() -> None:
    pixels = decode_bytes(odd.half_transparent())
    assert (pixels[:, :48] == (255, 0, 0)).all()
    assert (pixels[:, 48:] == 255).all()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_orientation_is_applied(orientation: int, mode: str) -> None:
    """`RGB` goes through simplejpeg, `CMYK` through Pillow."""
    exif = Image.Exif()
    exif[odd.ORIENTATION_TAG] = orientation
    content = odd.encoded(odd.photo().convert(mode), "JPEG", exif=exif)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
    np.testing.assert_array_equal(decode_bytes(content), rgb(upright))


@pytest.mark.parametrize("kind", ["TIFF", "PNG", "WEBP"])
def test_orientation_is_applied_once_in_formats_that_pillow_turns_itself(kind: str) -> None:
    exif = Image.Exif()
    exif[odd.ORIENTATION_TAG] = 6
    content = odd.encoded(odd.photo(), kind, exif=exif)
    assert decode_bytes(content).shape == (96, 64, 3)


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_unknown_orientation_changes_nothing(orientation: int) -> None:
    assert decode_bytes(odd.rotated_jpeg(orientation)).shape == (64, 96, 3)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_40_megapixels_come_back_reduced(kind: str) -> None:
    image = odd.photo(0, 8000, 5000)
    options = {"compress_level": 0} if kind == "PNG" else {}
    pixels = decode_bytes(odd.encoded(image, kind, **options))
    height, width, _ = pixels.shape
    assert decoding.ENOUGH_PIXELS <= height * width < 4 * decoding.ENOUGH_PIXELS
    assert width / height == pytest.approx(1.6, rel=0.01)
    assert difference(pixels, np.asarray(image.resize((width, height), Image.Resampling.BOX))) < 4


def test_reduced_picture_keeps_enough_pixels() -> None:
    content = odd.encoded(odd.photo(0, 900, 500), "PNG")
    height, width, _ = decode_bytes(content, enough_pixels=10_000).shape
    assert 10_000 <= height * width < 40_000


def test_reduced_truncated_jpeg_is_refused() -> None:
    content = odd.encoded(odd.photo(0, 3000, 2000), "JPEG", quality=95)
    with pytest.raises(BadPictureError, match="truncated"):
        decode_bytes(odd.without_end(content, 0.9), enough_pixels=10_000)


def test_fifo_is_refused_without_opening(tmp_path: Path) -> None:
    odd.make_fifo(tmp_path / "pipe.jpg")
    with pytest.raises(BadPictureError, match="not a regular file"):
        decode(tmp_path / "pipe.jpg")


def test_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.jpg").mkdir()
    with pytest.raises(BadPictureError, match="not a regular file"):
        decode(tmp_path / "folder.jpg")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadPictureError, match="No such file"):
        decode(tmp_path / "none.jpg")


def test_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.jpg"
    path.touch()
    os.truncate(path, decoding.MAX_FILE_BYTES + 1)  # sparse: takes no space
    with pytest.raises(BadPictureError, match="larger than"):
        decode(path)


def test_threads_change_nothing() -> None:
    contents = [make() for make in odd.READABLE.values()]
    alone = [sha256(decode_bytes(content).data).digest() for content in contents]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda content: sha256(decode_bytes(content).data).digest(), contents * 4))
    assert together == alone * 4
