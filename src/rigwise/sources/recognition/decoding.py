"""Bytes as text, in the encodings in which terminals, editors and PowerShell write."""

import re

_BINARY = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
MAX_BINARY_RATIO = 0.1
SAMPLE_BYTES = 2**16


def decoded(content: bytes) -> str | None:
    r"""The text; None for what is not text.

    >>> decoded("température".encode("latin-1")), decoded(b"\xff\xfeG\x00P\x00U\x00"), decoded(b"\x7fELF\x02\x00")
    ('température', 'GPU', None)
    """
    text = _as_written(content)
    sample = text[:SAMPLE_BYTES]
    if "\x00" in text or len(_BINARY.findall(sample)) > MAX_BINARY_RATIO * len(sample):
        return None
    return text


def _as_written(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    for encoding, high in (("utf-16-le", content[1:200:2]), ("utf-16-be", content[0:200:2])):
        if high.count(0) > len(high) * 0.8:
            return content.decode(encoding, "replace")
    text = content.decode("utf-8-sig", "replace")
    if "\ufffd" in text and text.replace("\ufffd", "").isascii():
        return content.decode("cp1252", "replace")
    return text
