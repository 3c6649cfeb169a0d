"""What a probe does in its child process: build, train, validate, save and load, soak; told step by step.

Every failure that Python can see is told with the memory at that moment; the others (a signal, silence) show in how the
process ended.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import torch

from rigwise.records.batch import Phase
from rigwise.sources.children import Tell
from rigwise.speech import say
from rigwise.train.batch.memory import MemoryGauge
from rigwise.train.batch.recognise import OutOfMemory, out_of_memory
from rigwise.train.batch.training import Training
from rigwise.train.fault_line import fault_line
from rigwise.train.step.device import CpuDevice, CudaDevice, Device, DeviceMemory, first_gpu

Build = Callable[[int], Training]
"""Batch size to the training at that size, on the device."""
MakeDevice = Callable[[], Device]
Made = TypeVar("Made")

PRELOADED = (
    "rigwise.train.batch.child",
    "torch._dynamo",
    "torch._subclasses.fake_tensor",
    "rigwise.train.batch.for_pictures",
)
"""What the fork server imports once. The first optimiser step imports torch._dynamo, which takes seconds, and guided
experiments import timm; none of them calls CUDA by being imported."""
SETTLED_STEPS = 2
"""Gradients and the optimiser's state exist after two steps: one that fails later needs more than those before it."""
SHORT_STEPS = 5
"""Our choice: a few more steps show that memory has settled."""


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The device, before anything was built on it."""

    pid: int
    uuid: str
    """Of the GPU, as NVML names it; "" for the CPU."""
    is_gpu: bool
    memory: DeviceMemory | None


class Entered(msgspec.Struct, frozen=True, kw_only=True):
    """A phase begins."""

    phase: Phase


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """A phase, or one of its steps, ended."""

    phase: Phase
    steps: int
    """Optimiser steps that ran to the end so far."""
    memory: DeviceMemory | None
    seconds: float
    """Since it was entered."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """Something was raised."""

    ran_out: OutOfMemory | None
    text: str
    """First line of what was raised, with its type and, where memory is not the reason, the line that raised it."""
    memory: DeviceMemory | None


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """It ran to the end."""

    memory: DeviceMemory | None


def default_device() -> Device:
    """The GPU of this rank, as torchrun numbers them; the first one outside of a job; else the CPU."""
    gpu = first_gpu()
    if gpu is None:
        return CpuDevice()
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    return CudaDevice(rank) if rank < torch.cuda.device_count() else gpu


class ProbeWork(msgspec.Struct, frozen=True, kw_only=True):
    """One probe, as it is sent to its child process."""

    build: Build
    batch_size: int
    num_steps: int
    make_device: MakeDevice

    def __call__(self, tell: Tell, folder: Path) -> None:
        """Run it; ends quietly whatever the training raises."""
        device = self.make_device()
        with device.using():
            tell(self._outcome(device, MemoryGauge(device), tell, folder))

    def _outcome(self, device: Device, gauge: MemoryGauge, tell: Tell, folder: Path) -> Failed | Ran:
        try:
            self._run(device, gauge, tell, folder)
        except Exception as error:
            memory = gauge.read()  # before the frames that hold the activations are gone
            known = {"free_bytes": memory.free, "total_bytes": memory.total} if memory else {}
            ran_out = out_of_memory(error, **known)
            return Failed(
                ran_out=ran_out, text=_words(error, fault_line(error) if ran_out is None else ""), memory=memory
            )
        return Ran(memory=gauge.read())

    def _run(self, device: Device, gauge: MemoryGauge, tell: Tell, folder: Path) -> None:
        def phase(name: Phase, work: Callable[[], Made], steps: int) -> Made:
            tell(Entered(phase=name))
            device.start_peak()
            began = time.perf_counter()
            made = work()
            device.synchronize()
            seconds = time.perf_counter() - began
            tell(Reached(phase=name, steps=steps, memory=gauge.read(), seconds=seconds))
            return made

        def train(name: Phase, steps: range) -> None:
            for step in steps:
                phase(name, partial(training.train_step, step), step + 1)

        tell(Started(pid=os.getpid(), uuid=device.uuid, is_gpu=device.is_gpu, memory=gauge.read()))
        training = phase("build", partial(self.build, self.batch_size), 0)
        first = min(SHORT_STEPS, self.num_steps)
        train("train", range(first))
        phase("validation", training.validate, first)
        phase("checkpoint", partial(_save_and_load, training, folder / "checkpoint"), first)
        if first < self.num_steps:
            train("soak", range(first, self.num_steps))
            phase("validation", training.validate, self.num_steps)  # a second one shows what the first one kept


def _words(error: Exception, where: str) -> str:
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    return say("{said} ({where})", said=said, where=where) if where else said


def _save_and_load(training: Training, path: Path) -> None:
    training.save(path)
    training.load(path)
