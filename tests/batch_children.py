"""What children of the tests do. They run in child processes, so they stand in a module that can be imported there."""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rigwise.sources.children import Tell, run_in_child

Named = Callable[[Tell, Path], None]


def count(tell: Tell, folder: Path) -> None:
    for number in range(3):
        tell(number)


def fail(tell: Tell, folder: Path) -> None:
    raise ValueError("no such thing")


def crash(tell: Tell, folder: Path) -> None:
    tell("first")
    print("last words", flush=True)
    ctypes.string_at(0)


def hang(tell: Tell, folder: Path) -> None:
    tell(os.getpid())
    tell(subprocess.Popen(["sleep", "600"]).pid)
    time.sleep(600)


def write(tell: Tell, folder: Path) -> None:
    (folder / "large").write_bytes(bytes(1000))
    tell(folder)


def say_twice(word: str, tell: Tell, folder: Path) -> None:
    tell(word)
    tell(word)


def note_and_hang(noted: str, tell: Tell, folder: Path) -> None:
    part = Path(noted + ".part")
    part.write_text(str(os.getpid()))
    part.rename(noted)
    time.sleep(600)


if __name__ == "__main__":
    run_in_child(partial(note_and_hang, sys.argv[1]), silence_seconds=600.0, told=print)
