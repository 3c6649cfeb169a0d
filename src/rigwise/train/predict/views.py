"""What a model sees of pictures: decoded and cropped in threads exactly as the loader does it for validation."""

from collections.abc import Generator, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rigwise.speech import say
from rigwise.train.pictures.augment import centre_view
from rigwise.train.pictures.decode import BadPictureError, Pixels, decode_bytes, read_file
from rigwise.train.pictures.loader import enough_pixels, use_one_torch_thread
from rigwise.train.pictures.ordered import in_order

Picture = Path | str | bytes | Pixels
"""A file, the content of one, or pixels as decoded: uint8 `(H, W, 3)`, RGB, upright."""
AHEAD = 64
"""Pictures decoded before they are asked for: two batches."""


class View(NamedTuple):
    """One picture as the model sees it, or why it cannot."""

    pixels: Tensor | None
    """uint8 `(3, S, S)`"""
    why_not: str


def views(pictures: Iterable[Picture], image_size: int, num_threads: int) -> Generator[View, None, None]:
    """A view of each picture, in order. Close it to end its threads before it is used up."""
    torch.get_num_threads()  # fixes the caller's number before the threads set theirs
    return in_order(
        partial(_view, image_size),
        pictures,
        num_threads=num_threads,
        ahead=AHEAD,
        start_thread=use_one_torch_thread,
    )


def _view(image_size: int, picture: Picture) -> View:
    try:
        return View(centre_view(_pixels(picture, image_size), image_size), "")
    except BadPictureError as error:
        return View(None, str(error))


def _pixels(picture: Picture, image_size: int) -> Pixels:
    if not isinstance(picture, np.ndarray):
        content = picture if isinstance(picture, bytes) else read_file(Path(picture))
        return decode_bytes(content, enough_pixels=enough_pixels(image_size))
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or 0 in picture.shape:
        shape = f"{picture.dtype} {picture.shape}"
        raise BadPictureError(say("pixels must be uint8 (height, width, 3), not {shape}", shape=shape))
    return np.array(picture, order="C")  # a copy: torch does not take what cannot be written to
