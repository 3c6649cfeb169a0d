"""The bytes of a picture that was usable when the run began."""

from hashlib import sha256
from pathlib import Path

from rigwise.errors import BadInput
from rigwise.speech import printable, say
from rigwise.train.pictures.decode import BadPictureError, Pixels, decode_bytes, read_file
from rigwise.train.pictures.picture_set import Picture


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
        content = read_file(root / picture.path)
        if must_be_same and sha256(content).hexdigest() != picture.sha256:
            raise BadPictureError(say("its bytes changed"))
        return decode_bytes(content, enough_pixels=enough_pixels)
    except BadPictureError as error:
        raise BadInput(
            say("cannot use the picture {path}", path=printable(picture.path)),
            say("{reason}; it was usable when the run began", reason=error),
            say("leave the pictures alone while a run reads them, then start it again"),
        ) from error
