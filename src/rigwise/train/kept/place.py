"""Where what is kept between runs lies."""

import os
from pathlib import Path


def cache_base(kind: str) -> Path:
    """Where caches of this kind lie: XDG Base Directory Specification 0.8, `$XDG_CACHE_HOME`."""
    told = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(told) if os.path.isabs(told) else Path("~/.cache").expanduser()) / "rigwise" / kind
