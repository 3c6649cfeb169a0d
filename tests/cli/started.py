"""A `rigwise train` in the background, watched from outside."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import psutil


class Started:
    """A `rigwise train` that goes on in the background; nothing of it may be left when it ended."""

    def __init__(self, arguments: list[str], place: Path, environment: dict[str, str], out: Path) -> None:
        self.out = out
        self._temporary = place / "temporary"
        self._temporary.mkdir(exist_ok=True)
        self._said = place / "said"
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rigwise", "train", *arguments],
                env=environment | {"TMPDIR": str(self._temporary)},
                cwd=place,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )

    @property
    def said(self) -> str:
        """What it has said on standard error so far."""
        return self._said.read_text()

    def num_steps(self) -> int:
        """Steps it has recorded so far."""
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(f"file:{self.out}/run.sqlite?mode=ro", uri=True)) as found,
        ):
            return int(found.execute("SELECT count(*) FROM steps").fetchone()[0])
        return 0

    def until(self, condition: Callable[["Started"], object], limit_seconds: float = 60) -> "Started":
        """Itself, once the condition holds."""
        deadline = time.monotonic() + limit_seconds
        while not condition(self):
            assert time.monotonic() < deadline, self.said
            assert self.process.poll() is None, self.said
            time.sleep(0.01)
        return self

    def send(self, *signals: signal.Signals) -> "Started":
        """Itself, after these signals."""
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.05)
        return self

    def ended(self) -> subprocess.CompletedProcess[str]:
        """What came of it; its children and temporary files are gone."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        output, _ = self.process.communicate(timeout=60)
        _, alive = psutil.wait_procs(children, timeout=5)  # a fork server ends by itself when nobody is left to ask it
        assert not [child for child in alive if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
        assert list(self._temporary.iterdir()) == []
        return subprocess.CompletedProcess((), self.process.returncode, output, self.said)
