"""Which wheel of PyTorch, TensorFlow and JAX runs on a GPU, a driver and a Python. Three tables, validated once.

The tables serve advice before an installation; what is installed is judged by its own list of architectures and by
running a kernel. `kind` of a PyTorch build: `pypi` is the one that PyPI serves to Linux, `experimental` one that the
PyTorch release notes call so.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from rigwise.knowledge.architectures import Capability, capability_of, runs_on
from rigwise.knowledge.drivers import needed_driver, version_numbers

TORCH_INDEX = "https://download.pytorch.org/whl"
FIRST_PYPI_CUDA_ON_ARM = (2, 11)
"""Older aarch64 wheels of PyPI have no CUDA: their CUDA requirements say platform_machine == "x86_64"."""
LINUX_ONLY_CUDA = "10.2"
"""https://pytorch.org/get-started/previous-versions/: PyTorch 1.12 has no build for CUDA 10.2 on Windows."""
LAST_TENSORFLOW_WITH_GPU_ON_WINDOWS = (2, 10)
"""https://www.tensorflow.org/install/pip: native Windows has no GPU support from 2.11 on; WSL2 has."""


class TorchBuild(msgspec.Struct, frozen=True):
    """One CUDA build of one PyTorch release."""

    release: str
    cuda: str
    kind: Literal["", "pypi", "experimental"]
    architectures: str
    """Compiled in, as `70 75 80`."""
    python_oldest: str
    python_newest: str
    verified: Literal["yes", "partly"]
    source: str
    checked_on: str

    @property
    def wheel(self) -> str:
        """The name of its wheel index: `cu126`."""
        return "cu" + self.cuda.replace(".", "")

    def runs(self, capability: Capability) -> bool:
        """Whether it has code for a GPU."""
        return runs_on([f"sm_{number}" for number in self.architectures.split()], capability)

    def has_python(self, python: tuple[int, ...]) -> bool:
        """Whether there is a wheel for a Python."""
        return version_numbers(self.python_oldest) <= python[:2] <= version_numbers(self.python_newest)

    def runs_with(self, driver: str, *, windows: bool) -> bool:
        """Whether a driver reaches the floor of its CUDA family, and there is a wheel for the system at all."""
        if windows and self.cuda == LINUX_ONLY_CUDA:
            return False
        needed = needed_driver(self.cuda, windows=windows)
        return needed is not None and version_numbers(driver) >= version_numbers(needed)


class TensorflowBuild(msgspec.Struct, frozen=True):
    """What one TensorFlow release was built for."""

    release: str
    cuda: str
    cudnn: str
    python_oldest: str
    python_newest: str
    verified: Literal["yes", "partly"]
    source: str
    checked_on: str


class JaxBuild(msgspec.Struct, frozen=True):
    """One CUDA plugin of JAX, from the release named until the next row of its CUDA."""

    first_release: str
    cuda: str
    architectures_from: str
    python_oldest: str
    python_newest: str
    verified: Literal["yes", "partly"]
    source: str
    checked_on: str


@cache
def torch_builds() -> tuple[TorchBuild, ...]:
    """Every build, oldest release first, within a release oldest CUDA first."""
    return tuple(msgspec.convert(row, TorchBuild) for row in _rows("torch_builds.csv"))


@cache
def tensorflow_builds() -> tuple[TensorflowBuild, ...]:
    """Every release, oldest first."""
    return tuple(msgspec.convert(row, TensorflowBuild) for row in _rows("tensorflow_builds.csv"))


@cache
def jax_builds() -> tuple[JaxBuild, ...]:
    """Every plugin row, CUDA 12 first, oldest release first."""
    return tuple(msgspec.convert(row, JaxBuild) for row in _rows("jax_builds.csv"))


def best_torch_build(
    capabilities: Iterable[Capability],
    driver: str | None = None,
    python: tuple[int, ...] | None = None,
    *,
    windows: bool = False,
) -> TorchBuild | None:
    """The newest build that runs on every GPU, with this driver and this Python; None when there is none.

    Within a release PyPI's own build comes first, experimental builds last.

    >>> best_torch_build([(6, 1)], "580.65.06", (3, 12)).wheel, best_torch_build([(12, 0)], "570.86.15").release
    ('cu126', '2.11')
    >>> best_torch_build([(8, 9)], "525.60.13", (3, 15)) is None
    True
    """
    gpus = tuple(capabilities)
    fitting = [
        build
        for build in torch_builds()
        if all(build.runs(gpu) for gpu in gpus)
        and (driver is None or build.runs_with(driver, windows=windows))
        and (python is None or build.has_python(python))
    ]
    return max(fitting, key=_preference, default=None)


def torch_install_command(build: TorchBuild, *, beside: Sequence[str] = (), plain: bool = False) -> str:
    """The pip command that puts this build in place of whatever is there.

    `beside` names torchvision and torchaudio where they are installed, since they must match. `plain`: PyPI's wheel
    is the right one on this machine (Linux on x86-64, or a release that has CUDA on aarch64).

    >>> torch_install_command(best_torch_build([(6, 1)]), beside=["torchvision"])
    'pip install --force-reinstall "torch<2.15" torchvision --index-url https://download.pytorch.org/whl/cu126'
    """
    newest = torch_builds()[-1]
    releases = list(dict.fromkeys(one.release for one in torch_builds()))
    later = next(iter(releases[releases.index(build.release) + 1 :]), None)
    wanted = f'"torch<{later}"' if later else "torch"
    names = " ".join((wanted, *beside))
    if plain and build.kind == "pypi" and build.release == newest.release:
        return f"pip install --force-reinstall {names}"
    return f"pip install --force-reinstall {names} --index-url {TORCH_INDEX}/{build.wheel}"


def torch_pythons(release: str) -> tuple[str, str] | None:
    """The oldest and newest Python that a release (`2.5.1`) has wheels for; None for one not in the table.

    >>> torch_pythons("2.5.1+cu121"), torch_pythons("9.9")
    (('3.9', '3.12'), None)
    """
    for build in torch_builds():
        if build.release == short_release(release):
            return build.python_oldest, build.python_newest
    return None


def newest_torch_python() -> str:
    """The newest Python that any PyTorch release has wheels for."""
    return max((build.python_newest for build in torch_builds()), key=version_numbers)


def jax_install_command(capabilities: Iterable[Capability], driver: str | None, *, windows: bool = False) -> str | None:
    """The pip command for JAX with CUDA on these GPUs; None where no plugin runs on them, as on native Windows.

    >>> jax_install_command([(8, 6)], "570.124.06"), jax_install_command([(12, 0)], "590.44.01")
    ('pip install -U "jax[cuda12]"', 'pip install -U "jax[cuda13]"')
    """
    if windows:
        return None
    gpus = tuple(capabilities)
    for family in ("13", "12"):
        newest = [build for build in jax_builds() if build.cuda == family][-1]
        needed = version_numbers(needed_driver(family) or "0")
        new_enough = driver is None or version_numbers(driver) >= needed
        if new_enough and all(gpu >= capability_of(newest.architectures_from) for gpu in gpus):
            return f'pip install -U "jax[cuda{family}]"'
    return None


def tensorflow_build(version: str) -> TensorflowBuild | None:
    """What a TensorFlow version was built for; None for one not in the table.

    >>> tensorflow_build("2.16.1").cuda
    '12.3'
    """
    return next((build for build in tensorflow_builds() if build.release == short_release(version)), None)


def short_release(version: str) -> str:
    """Major and minor of a version: `2.5` of `2.5.1+cu121`, "" where there is none."""
    found = re.match(r"\s*(\d+\.\d+)", version)
    return found[1] if found else ""


def cuda_of_wheel(version: str) -> str | None:
    """The CUDA version that a PyTorch version carries in its name; "" for a CPU build, None when it does not say.

    >>> cuda_of_wheel("2.5.1+cu121"), cuda_of_wheel("2.11.0+cpu"), cuda_of_wheel("1.8.0+cu102"), cuda_of_wheel("2.1.0")
    ('12.1', '', '10.2', None)
    """
    local = version.partition("+")[2]
    if local.startswith("cpu"):
        return ""
    found = re.match(r"cu(\d{2,3})\b", local)
    return f"{found[1][:-1]}.{found[1][-1]}" if found else None


def _preference(build: TorchBuild) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    return version_numbers(build.release), ("experimental", "", "pypi").index(build.kind), version_numbers(build.cuda)


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = resources.files("rigwise.knowledge").joinpath(name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())
