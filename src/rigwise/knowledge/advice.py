"""The exact command that mends a machine's stack, from the tables and what is known of the machine."""

from rigwise.knowledge.architectures import Capability, capability_of_name, refuses_open_module
from rigwise.knowledge.drivers import driver_install_commands, needed_driver, version_numbers
from rigwise.knowledge.frameworks import (
    FIRST_PYPI_CUDA_ON_ARM,
    TorchBuild,
    best_torch_build,
    jax_install_command,
    torch_install_command,
)
from rigwise.records.excerpt import in_wsl, on_windows
from rigwise.records.rig import Rig

CAUTIOUS_CUDA = "12"
"""Where the driver is not known, a build for CUDA 12 runs on more drivers than one for CUDA 13."""
TENSORFLOW = 'pip install "tensorflow[and-cuda]"'
"""https://www.tensorflow.org/install/pip, for Linux and WSL2."""
ONNXRUNTIME = "pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu"
"""The two packages write into one folder: whichever came last is there (onnxruntime.ai, Install ONNX Runtime)."""
COMPANIONS = ("torchvision", "torchaudio")
"""Packages built for one version of PyTorch each."""


FIRST_DRIVER_OF_BLACKWELL = (570,)
"""Before it (CUDA 12.8) no driver knew a GPU that a build for its CUDA family has no code for."""
DRIVER_GUIDE = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
JETSON_WHEELS = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"
"""Jetsons up to Orin need the wheels of their JetPack; those of PyPI and download.pytorch.org have no code for them."""


def gpu_capabilities(rig: Rig) -> tuple[Capability, ...]:
    """The compute capabilities of the machine's GPUs: as the driver says, else as a framework says, else by name."""
    told = [gpu.compute_capability.value or capability_of_name(gpu.name.value or "") for gpu in rig.gpus]
    known = {capability for capability in told if capability is not None}
    if not known and rig.interpreter.value is not None:
        known = {one for framework in rig.interpreter.value.frameworks for one in framework.device_capabilities}
    return tuple(sorted(known))


def torch_command(rig: Rig) -> str | None:
    """How to install the newest PyTorch that runs on this machine; None where no build does, or its GPU is unknown."""
    if on_jetson(rig):
        return JETSON_WHEELS
    build = torch_build_for(rig)
    if build is None:
        return None
    packages = rig.interpreter.value.packages if rig.interpreter.value else ()
    beside = [package.name for package in packages if package.name in COMPANIONS]
    return torch_install_command(build, beside=beside, plain=_pypi_has_cuda(rig, build))


def torch_build_for(rig: Rig) -> TorchBuild | None:
    """The newest PyTorch build that runs on every GPU of this machine with its driver and Python."""
    capabilities = gpu_capabilities(rig)
    windows, python = on_windows(rig), python_numbers(rig)
    driver = rig.driver_version.value or _oldest_driver_of_shown_cuda(rig, windows=windows)
    if not capabilities and (driver is None or version_numbers(driver) >= FIRST_DRIVER_OF_BLACKWELL):
        return None
    if driver is not None:
        return best_torch_build(capabilities, driver, python, windows=windows)
    cautious = best_torch_build(capabilities, needed_driver(CAUTIOUS_CUDA, windows=windows), python, windows=windows)
    return cautious or best_torch_build(capabilities, None, python, windows=windows)


def _oldest_driver_of_shown_cuda(rig: Rig, *, windows: bool) -> str | None:
    """The oldest driver of the CUDA family that the driver says it runs; None where it does not say."""
    shown = rig.cuda_driver_version.value
    return needed_driver(str(shown[0]), windows=windows) if shown else None


def jax_command(rig: Rig) -> str | None:
    """How to install JAX with CUDA on this machine; None where no plugin runs on it."""
    windows = on_windows(rig) and not in_wsl(rig)
    shown = rig.driver_version.value or _oldest_driver_of_shown_cuda(rig, windows=windows)
    return jax_install_command(gpu_capabilities(rig), shown or needed_driver(CAUTIOUS_CUDA), windows=windows)


def mending_command(framework: str, rig: Rig) -> str | None:
    """How to install a framework with CUDA on this machine; None where that is not known, or for none of them."""
    if framework == "tensorflow":
        return None if on_windows(rig) and not in_wsl(rig) else TENSORFLOW
    if framework == "jax":
        return jax_command(rig)
    if framework == "onnxruntime":
        return ONNXRUNTIME
    return torch_command(rig) if framework == "torch" else None


def on_jetson(rig: Rig) -> bool:
    """Whether the machine is a Jetson, as its kernel or its GPU says."""
    system = f"{rig.host.kernel.value or ''} {rig.interpreter.value.os_name if rig.interpreter.value else ''}"
    return "tegra" in system or any("(nvgpu)" in (gpu.name.value or "") for gpu in rig.gpus)


def driver_commands(rig: Rig) -> tuple[str, ...]:
    """How to install the NVIDIA driver on this system; where no table knows it, where to read that."""
    reported = rig.interpreter.value.os_name if rig.interpreter.value else ""
    known = driver_install_commands(rig.host.os_name.value or reported)
    refused = "open" in "".join(known) and any(map(refuses_open_module, gpu_capabilities(rig)))
    return known if known and not refused else (DRIVER_GUIDE,)


def python_numbers(rig: Rig) -> tuple[int, ...] | None:
    """The version of the user's Python, None where it is not known."""
    version = rig.interpreter.value.version if rig.interpreter.value else ""
    try:
        return version_numbers(version)[:2] if version.count(".") else None
    except ValueError:
        return None


def _pypi_has_cuda(rig: Rig, build: TorchBuild) -> bool:
    """Whether PyPI's own wheel has CUDA here: on Linux on x86-64, and on aarch64 since 2.11."""
    windows = on_windows(rig) and not in_wsl(rig)
    return not windows and version_numbers(build.release) >= FIRST_PYPI_CUDA_ON_ARM
