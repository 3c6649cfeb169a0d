"""What the AI frameworks of one Python installation see. Run as a script by the user's own interpreter.

Prints one JSON object as its last line, whatever happens. Needs Python 3.8, the standard library and nothing of
ours. Only torch is imported, since only torch is asked to run something; the others are read from their metadata.
With `--deep`, TensorFlow and JAX run a kernel too, each in a process of its own so that neither takes the other's VRAM.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import warnings
from importlib import metadata
from typing import Any

LIMIT_SECONDS = 50.0
"""Less than the caller's limit, so that a hang is told together with the place where it hung."""
KERNEL_SIZE = 256
DEEP_LIMIT_SECONDS = 55.0
"""For one framework; with both, and torch, less than the caller's limit."""
VARIABLES = re.compile(
    r"CUDA_|NVIDIA_VISIBLE|NVIDIA_DRIVER|PYTORCH_|LD_LIBRARY_PATH$|LD_PRELOAD$|XLA_|TF_FORCE|JAX_PLATFORM|NCCL_|CONDA_DEFAULT"
)
"""Beginnings of environment variables that decide about CUDA."""
PACKAGES = re.compile(
    r"torch|nvidia-|cuda-|tensorflow|jax|triton|cupy|xformers|flash-attn|bitsandbytes|vllm", re.IGNORECASE
)
"""Beginnings of the names of packages that hold CUDA code."""


def main() -> None:
    """Print the answer; give up with what is known when the limit is reached."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != os.path.dirname(os.path.abspath(__file__))]
    torch_facts: dict[str, Any] = {}
    timer = threading.Timer(LIMIT_SECONDS, give_up, [torch_facts])
    timer.daemon = True
    timer.start()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_torch(torch_facts)
    timer.cancel()
    torch_facts.pop("stage", None)
    if torch_facts.get("cuda_available") is False and not torch_facts.get("error"):
        torch_facts["error"] = cuda_warning(caught)
    answer(torch_facts)


def give_up(torch_facts: dict[str, Any]) -> None:
    """Print what is known and end the process, also when another thread hangs in a driver call."""
    torch_facts["error"] = f"no answer after {LIMIT_SECONDS:.0f} s in: {torch_facts.pop('stage', 'import torch')}"
    answer(torch_facts)
    os._exit(0)


def answer(torch_facts: dict[str, Any]) -> None:
    """Print everything that is known as one line of JSON."""
    frameworks = [torch_facts] if torch_facts else []
    others = [facts for facts in (read_tensorflow(), read_jax()) if facts is not None]
    if "--deep" in sys.argv:
        for facts in others:
            run_in_child(facts)
    frameworks += others
    known = {
        "executable": sys.executable,
        "version": ".".join(map(str, sys.version_info[:3])),
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "frameworks": frameworks,
        "packages": installed_packages(),
        "environment": {name: value for name, value in os.environ.items() if VARIABLES.match(name)},
    }
    print("\n" + json.dumps(known), flush=True)


def read_torch(facts: dict[str, Any]) -> None:
    """Fill in what torch says, as far as it gets; `facts` stays empty when torch is not installed."""
    version = distribution_version("torch")
    if version is None:
        return
    facts.update(name="torch", version=version, stage="import torch")
    try:
        import torch

        facts["version"] = torch.__version__
        facts["cuda_build"] = torch.version.cuda
        facts["cpu_only"] = torch.version.cuda is None
        facts["stage"] = "torch.cuda.is_available"
        facts["arch_list"] = torch.cuda.get_arch_list() if torch.version.cuda else []
        facts["cuda_available"] = torch.cuda.is_available()
        facts["device_count"] = torch.cuda.device_count()
        read_libraries(torch, facts)
        if facts["cuda_available"]:
            run_kernels(torch, facts)
    except BaseException as failure:
        facts["error"] = first_line(failure)


def run_kernels(torch: Any, facts: dict[str, Any]) -> None:
    """One small kernel on every visible GPU, its result checked."""
    devices = range(facts["device_count"])
    facts["device_capabilities"] = [list(torch.cuda.get_device_capability(device)) for device in devices]
    facts["kernel_ok"] = False
    for device in devices:
        facts["stage"] = f"first kernel on cuda:{device}"
        total = torch.ones(KERNEL_SIZE, device=f"cuda:{device}").mul_(2).sum().item()
        if total != 2 * KERNEL_SIZE:
            facts["error"] = f"cuda:{device} adds {KERNEL_SIZE} twos to {total}"
            return
    facts["kernel_ok"] = True


def read_libraries(torch: Any, facts: dict[str, Any]) -> None:
    """Versions of cuDNN and NCCL that torch holds, where it tells them."""
    try:
        number = torch.backends.cudnn.version()
        if number:
            size = 10000 if number >= 90000 else 1000  # cudnn_version.h: major * 10000 since 9, major * 1000 before
            facts["cudnn"] = f"{number // size}.{number % size // 100}.{number % 100}"
        facts["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    except Exception:  # builds without them raise what they like
        return


TENSORFLOW_KERNEL = """
import json, tensorflow as tf
found = len(tf.config.list_physical_devices("GPU"))
total = float(tf.reduce_sum(tf.ones([256]) * 2)) if found else None
print("\\n" + json.dumps({"cuda_available": found > 0, "device_count": found, "total": total}))
"""
JAX_KERNEL = """
import json, jax, jax.numpy as jnp
found = sum(device.platform in ("gpu", "cuda") for device in jax.devices())
total = float((jnp.ones(256) * 2).sum()) if found else None
print("\\n" + json.dumps({"cuda_available": found > 0, "device_count": found, "total": total}))
"""
KERNELS = {"tensorflow": TENSORFLOW_KERNEL, "jax": JAX_KERNEL}


def run_in_child(facts: dict[str, Any]) -> None:
    """One kernel of TensorFlow or JAX in a process of its own, without taking all of the VRAM."""
    quiet = dict(os.environ, TF_FORCE_GPU_ALLOW_GROWTH="true", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    command = [sys.executable, "-c", KERNELS[facts["name"]]]
    try:
        done = subprocess.run(command, env=quiet, capture_output=True, timeout=DEEP_LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        facts["error"] = f"no answer after {DEEP_LIMIT_SECONDS:.0f} s in: first kernel"
        return
    said = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith("{")]
    if done.returncode or not said:
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
        facts["error"] = errors[-1] if errors else f"it ended with {done.returncode}"
        return
    answers = json.loads(said[-1])
    total = answers.pop("total")
    facts.update(answers)
    if total is not None:
        facts["kernel_ok"] = total == 2 * KERNEL_SIZE


def read_tensorflow() -> dict[str, Any] | None:
    """TensorFlow from its metadata: the CUDA it was built for is the one its extra asks for."""
    cpu_version = distribution_version("tensorflow-cpu")
    if cpu_version is not None:
        return {"name": "tensorflow", "version": cpu_version, "cpu_only": True}
    version = distribution_version("tensorflow")
    if version is None:
        return None
    needs = " ".join(metadata.requires("tensorflow") or [])
    runtime = re.search(r"nvidia-cuda-runtime(?:-cu\d+)?\W+(\d+\.\d+)", needs)
    return {"name": "tensorflow", "version": version, "cuda_build": runtime.group(1) if runtime else None}


def read_jax() -> dict[str, Any] | None:
    """JAX from its metadata: without a CUDA plugin it only has the CPU."""
    version = distribution_version("jax")
    if version is None:
        return None
    families = [family for family in ("13", "12") if distribution_version(f"jax-cuda{family}-plugin")]
    return {
        "name": "jax",
        "version": version,
        "cuda_build": families[0] if families else None,
        "cpu_only": not families,
    }


def distribution_version(name: str) -> str | None:
    """The installed version of a distribution, None when it is not installed."""
    try:
        return metadata.version(name)
    except Exception:  # a broken installation raises more than PackageNotFoundError
        return None


def installed_packages() -> list[list[str]]:
    """Name and version of every installed distribution that matters to CUDA."""
    found: dict[str, str] = {}
    try:
        for one in metadata.distributions():
            name = one.metadata["Name"] or ""
            if PACKAGES.match(name):
                found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), one.version)
    except Exception:  # broken metadata of one package must not hide the answer
        pass
    return [[name, version] for name, version in sorted(found.items())]


def first_line(failure: BaseException) -> str:
    """The first line of an exception with its class."""
    words = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {words[0]}" if words else type(failure).__name__


def cuda_warning(caught: list[warnings.WarningMessage]) -> str:
    """The first line of torch's own warning about CUDA, "" when it gave none."""
    said = [str(warning.message).strip().splitlines()[0] for warning in caught if "CUDA" in str(warning.message)]
    return said[0] if said else ""


if __name__ == "__main__":
    main()
