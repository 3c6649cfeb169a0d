"""The chain of links on GPUs that are simulated: a sound one, and ones that are broken at one link."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from simulated_gpu import SimulatedGpu
from torch.utils._python_dispatch import TorchDispatchMode

from rigwise.train.network.model import BuiltModel, build_model
from rigwise.train.smoke import GRADIENT_TOLERANCE, LOGIT_TOLERANCE, Smoke, smoke
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.units import GIB, MIB


class Spoilt(TorchDispatchMode):
    """Every convolution of this GPU comes out changed."""

    def __init__(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._change = change

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return self._change(result) if "convolution.default" in str(func) else result


class FaultyGpu(SimulatedGpu):
    """A GPU that computes something else."""

    def __init__(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__(simulate_vram(GIB))
        self._spoilt = Spoilt(change)

    def using(self) -> AbstractContextManager[object]:
        return self._spoilt


@pytest.fixture(scope="module")
def built() -> BuiltModel:
    return build_model("test_efficientnet.r160_in1k", 5, weights="none")


def prove(built: BuiltModel, gpu: SimulatedGpu | None, no_gpu: str = "") -> Smoke:
    images = torch.randint(0, 256, (4, 3, 64, 64), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return smoke(built.model, Normalise(built.mean, built.std), images, torch.arange(4), gpu, no_gpu)


def test_a_sound_gpu_holds_every_link(built: BuiltModel) -> None:
    report = prove(built, SimulatedGpu(simulate_vram(GIB))).report
    assert [link.name for link in report.links] == [
        "cpu batch",
        "device available",
        "parameters on the device",
        "batch on the device",
        "forward and backward finite",
        "equal to the CPU result",
        "memory rises and falls",
    ]
    assert report.first_broken is None
    assert report.next_step == "rigwise train DATA"


def test_without_a_gpu_the_first_broken_link_says_why(built: BuiltModel) -> None:
    broken = prove(built, None, "driver not loaded").report.first_broken
    assert broken is not None
    assert (broken.name, broken.text) == ("device available", "driver not loaded")


def test_a_gpu_that_computes_nan_is_not_finite(built: BuiltModel) -> None:
    broken = prove(built, FaultyGpu(lambda result: result * float("nan"))).report.first_broken
    assert broken is not None
    assert broken.name == "forward and backward finite"


def test_a_gpu_that_computes_something_else_is_not_equal(built: BuiltModel) -> None:
    broken = prove(built, FaultyGpu(lambda result: torch.roll(result, 1, dims=-1))).report.first_broken
    assert broken is not None
    assert broken.name == "equal to the CPU result"
    assert f"at most {LOGIT_TOLERANCE:g}" in broken.text
    assert f"at most {GRADIENT_TOLERANCE:g}" in broken.text


def test_rounding_noise_is_equal(built: BuiltModel) -> None:
    report = prove(built, FaultyGpu(lambda result: result * (1 + 2**-20))).report
    equal = next(link for link in report.links if link.name == "equal to the CPU result")
    assert equal.ok


def test_memory_that_does_not_rise_is_noticed(built: BuiltModel) -> None:
    broken = prove(built, FaultyGpu(lambda result: result)).report.first_broken
    assert broken is not None
    assert broken.name == "memory rises and falls"


def test_a_batch_too_large_is_told_apart_from_a_broken_gpu(built: BuiltModel) -> None:
    proof = prove(built, SimulatedGpu(simulate_vram(MIB)))
    assert proof.out_of_memory
    assert proof.result is None


def test_the_model_ends_with_the_weights_it_had(built: BuiltModel) -> None:
    before = {name: value.clone() for name, value in built.model.named_parameters()}
    prove(built, SimulatedGpu(simulate_vram(GIB)))
    assert all(torch.equal(value, before[name]) for name, value in built.model.named_parameters())


def on_the_wrong_device(result: torch.Tensor) -> torch.Tensor:
    raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!")


def test_b54_a_fault_on_the_device_is_named_with_its_line(built: BuiltModel) -> None:
    broken = prove(built, FaultyGpu(on_the_wrong_device)).report.first_broken
    assert broken is not None
    assert broken.name == "batch runs on the device"
    assert "cuda:0 and cpu! (test_smoke.py, line" in broken.text
    assert broken.text.endswith("in on_the_wrong_device)")
