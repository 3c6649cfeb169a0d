"""A small picture inside a page."""

import base64
from io import BytesIO

from PIL import Image

THUMBNAIL_PIXELS = 112
THUMBNAIL_QUALITY = 80


def thumbnail(image: Image.Image) -> str:
    """A small JPEG as a data: URI, so that the page needs no other file."""
    image.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
    buffer = BytesIO()
    image.save(buffer, "JPEG", quality=THUMBNAIL_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
