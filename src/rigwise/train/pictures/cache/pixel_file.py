"""Decoded pictures in one mapped file (`kept.array_file`), each known by the SHA-256 of its picture file."""

from pathlib import Path
from typing import ClassVar

import numpy as np

from rigwise.train.kept.array_file import ArrayFile, lock
from rigwise.train.pictures.decode import Pixels

__all__ = ["PixelFile", "lock"]


class PixelFile(ArrayFile):
    """The cache in one folder: uint8 `(H, W, 3)` of one picture after the other."""

    NAME: ClassVar[str] = "pixels.bin"
    LAST_AXES: ClassVar[tuple[int, ...]] = (3,)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, np.uint8)

    def pixels(self, sha256: str) -> Pixels:
        """The pixels of a picture that is there, uint8 `(H, W, 3)`; they are not copied and must not be written to."""
        return self.array(sha256)
