"""Compiles the stand-in for libnvidia-ml.so.1 once per source text, into a cache outside the repository."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "fake_nvml.c"
TEXTS = (SOURCE, SOURCE.with_name("fake_health.h"))
FLAGS = ("-std=gnu11", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wl,-soname,libnvidia-ml.so.1")


def fake_library(*options: str) -> Path:
    """The compiled library, in a folder of its own; skips the test where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc or clang) to build the simulated GPU")
    digest = hashlib.sha256(b"".join(text.read_bytes() for text in TEXTS) + " ".join(options).encode()).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"rigwise-fake-nvml-{os.getuid()}-{digest}" / "libnvidia-ml.so.1"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        draft = library.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler, *FLAGS, *options, str(SOURCE), "-o", str(draft)], check=True, timeout=60)
        draft.replace(library)
    return library
