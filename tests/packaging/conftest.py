"""The wheel as users get it, and an environment that holds nothing else: no torch, no page templates."""

import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from guards.own_files import ROOT

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
NO_NETWORK = ("NewConnectionError", "ConnectTimeoutError", "NameResolutionError", "ConnectionResetError")
OTHER_PYTHONS = {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"}
"""Variables that would lead to another Python's packages."""
Rigwise = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built by its own build backend."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [*PIP, "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, ROOT]
    done = subprocess.run([*map(str, build)], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and what it requires, from the package index."""
    folder = tmp_path_factory.mktemp("core")
    venv.create(folder, with_pip=False)
    install = [*PIP, "--python", str(folder / "bin" / "python"), "install", "--quiet", str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, timeout=240, check=False)
    if done.returncode and any(word in done.stderr for word in NO_NETWORK):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def rigwise(core: Path, fake_machine: Callable[[str], dict[str, str]], tmp_path: Path) -> Rigwise:
    """Runs the installed `rigwise` on the machine of a recording, away from the checkout."""
    machine = {name: value for name, value in fake_machine("healthy_rtx4090").items() if name not in OTHER_PYTHONS}

    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(core / "bin" / "rigwise"), *map(str, arguments)],
            env=machine | variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
