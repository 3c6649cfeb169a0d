"""Lists of installed packages, of Python and of the system, as far as CUDA needs them, and the frameworks in them."""

import re
from collections.abc import Iterable, Sequence

from rigwise.knowledge.frameworks import cuda_of_wheel, tensorflow_build
from rigwise.records.software import Framework, Package

RELEVANT = re.compile(
    r"(py)?torch|tensorflow|tf-|jax|nvidia-|cuda|cudnn|nccl|cupy|triton|xformers|flash-attn|bitsandbytes|vllm|libnvidia"
)
"""Beginnings of names that matter to CUDA."""
MOST_CHARACTERS = 4 * 2**20
"""As many as a source keeps of one answer; longer lists are not looked at to their end."""
_PIP = re.compile(r"\s*(?:\[(?:pip3?|conda)\]\s*)?([A-Za-z0-9][\w.-]{0,80})(?:\s*==\s*|\s+)(\d[\w.+!-]{0,80})\s*(.*)")
_DPKG = re.compile(r"(ii|rc|iU|iF|hi|un)\s+(\S+)\s+(\S+)")
_RPM = re.compile(r"([a-zA-Z][\w.+-]*?)-(?:\d+:)?(\d[\w.~]*)-\S+\.(?:x86_64|aarch64|noarch)$")
_PACMAN = re.compile(r"(?:local/)?([a-z][\w.+-]*) (\d[\w.:-]*)$")


def python_packages(text: str) -> tuple[Package, ...]:
    r"""What `pip list`, `pip freeze` or `conda list` name, each package once, also with collect_env's `[pip3]`.

    >>> python_packages("Package Version\n------- ------\ntorch   2.5.1+cpu\nnumpy 1.26\nnvidia_nccl_cu12==2.21.5")
    (Package(name='torch', version='2.5.1+cpu', build=''), Package(name='nvidia-nccl-cu12', version='2.21.5', build=''))
    >>> python_packages("pytorch   2.1.2   py3.10_cuda11.8_cudnn8.7.0_0    pytorch")[0].build
    'py3.10_cuda11.8_cudnn8.7.0_0'
    """
    packages: dict[str, Package] = {}
    for line in text[:MOST_CHARACTERS].splitlines():
        found = _PIP.match(line[:400])
        if found:
            name = normalised(found[1])
            build = found[3].split()[0] if found[3] else ""
            if RELEVANT.match(name):
                packages.setdefault(name, Package(name, found[2], build))
    return tuple(packages.values())


def system_packages(text: str) -> tuple[Package, ...]:
    r"""Installed packages that `dpkg -l`, `rpm -qa` or `pacman -Q` name, as far as they belong to NVIDIA's driver.

    >>> system_packages("ii  nvidia-dkms-570-open  570.133-0ubuntu1  amd64\nrc  nvidia-dkms-535  535.1  amd64")
    (Package(name='nvidia-dkms-570-open', version='570.133-0ubuntu1', build='ii'),)
    """
    found = (_system_package(line.strip()) for line in text[:MOST_CHARACTERS].splitlines())
    return tuple(package for package in found if package and "nvidia" in package.name and package.build != "rc")


def _system_package(line: str) -> Package | None:
    debian = _DPKG.match(line)
    if debian:
        return Package(debian[2].partition(":")[0], debian[3], debian[1])
    other = _RPM.match(line) or _PACMAN.match(line)
    return Package(other[1], other[2]) if other else None


def normalised(name: str) -> str:
    """A package name as package managers compare names.

    >>> normalised("nvidia_cudnn.cu12")
    'nvidia-cudnn-cu12'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def frameworks_of(packages: Sequence[Package]) -> tuple[Framework, ...]:
    """The frameworks among the packages, as far as names and versions tell of them.

    >>> [(one.name, one.cuda_build, one.cpu_only) for one in frameworks_of([Package("torch", "2.5.1+cpu")])]
    [('torch', None, True)]
    """
    by_name = {package.name: package for package in packages}
    found = (_torch(by_name), _tensorflow(by_name), _jax(by_name))
    return tuple(framework for framework in found if framework is not None)


def _torch(packages: dict[str, Package]) -> Framework | None:
    package = packages.get("torch") or packages.get("pytorch") or packages.get("pytorch-gpu")
    if package is None:
        return None
    cuda = cuda_of_wheel(package.version)
    if cuda is None:
        cuda = _cuda_of_conda_build(package.build)
    if cuda is None:
        cuda = _runtime_version(packages.values())
    return Framework(name="torch", version=package.version, cuda_build=cuda or None, cpu_only=_cpu_only(cuda))


def _cpu_only(cuda: str | None) -> bool | None:
    return None if cuda is None else cuda == ""


def _cuda_of_conda_build(build: str) -> str | None:
    """The CUDA version in a build string of conda; "" for a CPU build, None when it says nothing.

    >>> _cuda_of_conda_build("py3.10_cuda11.8_cudnn8.7.0_0"), _cuda_of_conda_build("cuda126_generic_py311_h1_200")
    ('11.8', '12.6')
    >>> _cuda_of_conda_build("cpu_generic_py311_h1_0"), _cuda_of_conda_build("pypi_0")
    ('', None)
    """
    dotted = re.search(r"cuda(\d+\.\d+)", build)
    if dotted:
        return dotted[1]
    joined = re.search(r"cuda(\d{2})(\d)", build)
    if joined:
        return f"{joined[1]}.{joined[2]}"
    return "" if re.search(r"(^|_)cpu(_|$)", build) else None


def _runtime_version(packages: Iterable[Package]) -> str | None:
    """The CUDA version of the runtime that is installed as a package, None where there is none or several."""
    names = re.compile(r"nvidia-cuda-runtime(-cu\d+)?$|pytorch-cuda$|cudatoolkit$")
    versions = {".".join(one.version.split(".")[:2]) for one in packages if names.match(one.name)}
    return versions.pop() if len(versions) == 1 else None


def _tensorflow(packages: dict[str, Package]) -> Framework | None:
    for name in ("tensorflow-cpu", "tensorflow-intel", "tensorflow-gpu", "tensorflow"):
        if name in packages:
            version = packages[name].version
            cpu_only = name in ("tensorflow-cpu", "tensorflow-intel")
            build = None if cpu_only else tensorflow_build(version)
            cuda = build.cuda if build else None
            return Framework(name="tensorflow", version=version, cuda_build=cuda, cpu_only=cpu_only or None)
    return None


def _jax(packages: dict[str, Package]) -> Framework | None:
    if "jax" not in packages and "jaxlib" not in packages:
        return None
    version = (packages.get("jax") or packages["jaxlib"]).version
    families = [family for family in ("13", "12") if f"jax-cuda{family}-plugin" in packages]
    cuda = families[0] if families else cuda_in_jaxlib(packages.get("jaxlib"))
    return Framework(name="jax", version=version, cuda_build=cuda, cpu_only=cuda is None)


def cuda_in_jaxlib(jaxlib: Package | None) -> str | None:
    """The CUDA that an old jaxlib (`0.4.14+cuda12.cudnn89`) holds itself."""
    found = re.search(r"\+cuda(\d+)", jaxlib.version) if jaxlib else None
    return found[1] if found else None
