"""The real command as a child process, on a simulated machine."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cli.started import Started
from fake_gpu.machine import fake_machine
from training_lab import draw_easy_pictures, small_recipe

from rigwise.train.recipe import write_recipe

RECORDINGS = Path(__file__).parents[1] / "recordings"

Rigwise = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def rigwise(tmp_path: Path) -> Rigwise:
    """Runs `rigwise` with these arguments on the machine named, in an own folder; `inside` is added to the environment.

    `options` are those of `subprocess.run`.
    """
    machines: dict[str, dict[str, str]] = {}

    def run(
        *arguments: object, machine: str = "no_gpu", inside: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        if machine not in machines:
            machines[machine] = fake_machine(RECORDINGS / machine, tmp_path / f"rigwise-on-{machine}")
        captured = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "input": "", "cwd": tmp_path}
        return subprocess.run(
            [sys.executable, "-m", "rigwise", *map(str, arguments)],
            env=machines[machine] | {"COLUMNS": "100", "HOME": str(tmp_path)} | dict(inside or {}),
            text=True,
            timeout=120,
            check=False,
            **captured | options,
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


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a finished run and that of its pictures, shared by all tests: change copies only."""
    place = tmp_path_factory.mktemp("finished")
    pictures = draw_easy_pictures(place / "shared-pictures")
    (place / "small.toml").write_text(write_recipe(small_recipe()))
    subprocess.run(
        [sys.executable, "-m", "rigwise", "train", pictures, "--recipe", "small.toml", "--out", "run"],
        env=fake_machine(RECORDINGS / "no_gpu", place / "machine"),
        cwd=place,
        capture_output=True,
        check=True,
    )
    return place / "run", pictures


@pytest.fixture
def begin(
    fake_machine: Callable[[str], dict[str, str]], tmp_path: Path, pictures: Path
) -> Iterator[Callable[..., Started]]:
    """Starts `rigwise train` on this test's pictures, or with other arguments."""
    environment = fake_machine("no_gpu") | {"HOME": str(tmp_path)}
    begun: list[Started] = []

    def begin(recipe: Path, out: Path, *others: str) -> Started:
        arguments = others or (str(pictures), "--recipe", str(recipe), "--out", str(out))
        begun.append(Started(list(arguments), tmp_path, environment, out))
        return begun[-1]

    yield begin
    for each in begun:
        each.process.kill()


@pytest.fixture
def endless(recipe: Path) -> Path:
    """A recipe that does not end by itself."""
    recipe.write_text(recipe.read_text().replace("steps = 6", "steps = 1000000"))
    return recipe
