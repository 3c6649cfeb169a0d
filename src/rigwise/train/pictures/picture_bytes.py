"""The bytes of a picture, in a file of its own or in a shard, and their pixels."""

import os
from hashlib import sha256
from pathlib import Path

from rigwise.errors import BadInput
from rigwise.speech import printable, say
from rigwise.train.pictures.decode import MAX_FILE_BYTES, BadPictureError, Pixels, decode_bytes, read_file
from rigwise.train.pictures.picture_set import Inside, Picture


def read_picture(root: Path, path: str, inside: Inside | None) -> bytes:
    """The bytes of a picture.

    Raises:
        BadPictureError: they cannot be read.
    """
    return read_file(root / path) if inside is None else read_inside(root, inside)


def read_inside(root: Path, inside: Inside) -> bytes:
    """The bytes of a member of a shard; safe with threads.

    Raises:
        BadPictureError: they cannot be read, or are too many.
    """
    if inside.num_bytes > MAX_FILE_BYTES:
        raise BadPictureError(say("larger than {limit} MiB", limit=MAX_FILE_BYTES // 2**20))
    try:
        with (root / inside.shard).open("rb", buffering=0) as file:
            content = os.pread(file.fileno(), inside.num_bytes, inside.offset)
    except OSError as error:
        raise BadPictureError(say("cannot be read: {error}", error=error.strerror)) from error
    if len(content) < inside.num_bytes:
        raise BadPictureError(say("its shard ends before it does"))
    return content


def decoded(root: Path, picture: Picture, enough_pixels: int, *, must_be_same: bool = False) -> Pixels:
    """The pixels of a picture, uint8 `(H, W, 3)`.

    Args:
        root: DATA.
        picture: one of it.
        enough_pixels: see `decode_bytes`.
        must_be_same: refuse bytes other than those the run began with.

    Raises:
        BadInput: it is no longer usable.
    """
    try:
        content = read_picture(root, picture.path, picture.inside)
        if must_be_same and sha256(content).hexdigest() != picture.sha256:
            raise BadPictureError(say("its bytes changed"))
        return decode_bytes(content, enough_pixels=enough_pixels)
    except BadPictureError as error:
        raise BadInput(
            say("cannot use the picture {path}", path=printable(picture.path)),
            say("{reason}; it was usable when the run began", reason=error),
            say("leave the pictures alone while a run reads them, then start it again"),
        ) from error
