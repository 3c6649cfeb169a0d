"""The real command as a child process, on a simulated machine."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from training_lab import draw_easy_pictures, small_recipe

from rigwise.train.recipe import write_recipe

Rigwise = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def rigwise(fake_machine: Callable[[str], dict[str, str]], tmp_path: Path) -> Rigwise:
    """Runs `rigwise` with these arguments on the machine named, in an own folder."""
    machines: dict[str, dict[str, str]] = {}

    def run(*arguments: object, machine: str = "no_gpu", standard_input: str = "") -> subprocess.CompletedProcess[str]:
        if machine not in machines:
            machines[machine] = fake_machine(machine)
        return subprocess.run(
            [sys.executable, "-m", "rigwise", *map(str, arguments)],
            env=machines[machine] | {"COLUMNS": "100", "HOME": str(tmp_path)},
            cwd=tmp_path,
            input=standard_input,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A small folder of classes of this test's own."""
    return draw_easy_pictures(tmp_path / "pictures")


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe that ends in seconds."""
    path = tmp_path / "small.toml"
    path.write_text(write_recipe(small_recipe()))
    return path
