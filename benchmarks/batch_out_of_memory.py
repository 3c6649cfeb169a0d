"""Out of memory, simulated: the batch size each tool settles on, beside the right one. Prints one table.

A training raises the very exception torch raises when its batch is above a limit; each scenario sets the limits of the
facts page. Every answer is then trained for 200 steps with a validation: an answer that dies there was wrong. Steps are
the training steps spent on the search. Lightning and accelerate are used where they are installed beside rigwise; they
are no dependencies of it.

    python benchmarks/batch_out_of_memory.py
"""

import contextlib
import importlib.util
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor, nn

from rigwise import find_batch
from rigwise.errors import RigwiseError

RUN_STEPS = 200
NEVER = 10**9


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """When memory ends, and what is right."""

    right: str
    is_right: Callable[[Any], bool]
    """Whether an answer is: a batch size, or the text of an error."""
    train_limit: int = NEVER
    late_limit: int = NEVER
    late_step: int = 0
    val_limit: int = NEVER
    val_times: int = 1
    most: int = 1024
    start: int = 2


def between(low: int, high: int) -> Callable[[Any], bool]:
    return lambda answer: isinstance(answer, int) and low <= answer <= high


def says(*words: str) -> Callable[[Any], bool]:
    return lambda answer: isinstance(answer, str) and all(word in answer for word in words)


SCENARIOS = {
    "S1 limit 100": Scenario(right="64-96", is_right=between(64, 96), train_limit=100),
    "S2 step 12 above 16": Scenario(right="16", is_right=between(8, 16), late_limit=16, late_step=11, most=256),
    "S3 validation 4x": Scenario(right="16-25", is_right=between(16, 25), train_limit=100, val_limit=100, val_times=4),
    "S4 nothing fits": Scenario(right="error: batch 1", is_right=says("batch 1 does not fit"), train_limit=0),
    "S6 at most 64": Scenario(right="32 or 64, run", is_right=between(32, 64), train_limit=100, most=64),
    "A1 limit 100": Scenario(right="64-100", is_right=between(64, 100), train_limit=100, most=128, start=128),
    "A3 step 150 always": Scenario(
        right="error: leak",
        is_right=says("step 150 whatever the batch"),
        late_limit=0,
        late_step=149,
        most=128,
        start=128,
    ),
    "A4 step 150 above 32": Scenario(
        right="32", is_right=between(24, 32), late_limit=32, late_step=149, most=128, start=128
    ),
}


class Answer(NamedTuple):
    """What a tool came to."""

    value: int | str
    steps: int
    largest_run: int = NEVER
    """The largest batch that ran; an answer above it was never tried."""


class Memory:
    """The simulated limits of one process, and the count of its training steps."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.num_steps = 0
        self.largest_run = 0

    def train(self, batch_size: int, step: int) -> None:
        """One training step, if it fits."""
        limits = self.scenario
        if batch_size > limits.train_limit or (batch_size > limits.late_limit and step >= limits.late_step):
            out_of_memory()
        self.num_steps += 1
        self.largest_run = max(self.largest_run, batch_size)

    def validate(self, batch_size: int) -> None:
        """One validation batch, if it fits."""
        if batch_size > self.scenario.val_limit:
            out_of_memory()


def out_of_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. (simulated)")


class Simulated:
    """The training as rigwise takes it (`rigwise.train.batch.training.Training`)."""

    def __init__(self, scenario: Scenario, batch_size: int) -> None:
        self._memory, self._batch_size = Memory(scenario), batch_size

    def train_step(self, step: int) -> None:
        """One step."""
        self._memory.train(self._batch_size, step)

    def validate(self) -> None:
        """One validation, at its own batch size."""
        self._memory.validate(self._batch_size * self._memory.scenario.val_times)

    def save(self, path: Path) -> None:
        """A checkpoint of nothing."""
        path.touch()

    def load(self, path: Path) -> None:
        """The checkpoint of nothing."""
        path.stat()


def build(name: str, batch_size: int) -> Simulated:
    return Simulated(SCENARIOS[name], batch_size)


def rigwise(name: str) -> Answer:
    scenario = SCENARIOS[name]
    try:
        found = find_batch(partial(build, name), most=scenario.most, start=scenario.start)
    except RigwiseError as error:
        return Answer(error.what, sum(probe.steps for probe in getattr(error, "probes", ())))
    ran = max(probe.batch_size for probe in found.probes if probe.held)
    return Answer(found.batch_size, sum(probe.steps for probe in found.probes), ran)


def accelerate(name: str) -> Answer:
    from accelerate.utils import find_executable_batch_size

    scenario = SCENARIOS[name]
    memory = Memory(scenario)

    @find_executable_batch_size(starting_batch_size=min(scenario.most, 128))  # its own default
    def train(batch_size: int) -> int:
        for step in range(RUN_STEPS):
            memory.train(batch_size, step)
        return batch_size

    try:
        return Answer(train(), memory.num_steps, memory.largest_run)
    except RuntimeError as error:
        return Answer(f"{error}"[:40], memory.num_steps)


def lightning(mode: str, name: str) -> Answer:
    from lightning.pytorch import Trainer
    from lightning.pytorch.tuner import Tuner

    scenario = SCENARIOS[name]
    memory = Memory(scenario)
    model = lightning_module(memory)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(max_steps=RUN_STEPS, default_root_dir=folder, enable_checkpointing=False, **quiet)
        try:
            value = Tuner(trainer).scale_batch_size(model, mode=mode, init_val=2, max_val=scenario.most)
        except (ValueError, RuntimeError) as error:
            return Answer(f"{type(error).__name__}: {error}"[:40], memory.num_steps)
    return Answer(int(value or 0), memory.num_steps, memory.largest_run)


def lightning_module(memory: Memory) -> Any:
    """One linear layer that runs out of memory as the scenario says."""
    from lightning.pytorch import LightningModule
    from torch.utils.data import DataLoader, TensorDataset

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.batch_size = 2
            self.layer = nn.Linear(1, 1)

        def training_step(self, batch: list[Tensor], step: int) -> Tensor:
            memory.train(len(batch[0]), step)
            return self.layer(batch[0]).sum()

        def validation_step(self, batch: list[Tensor], step: int) -> None:
            memory.validate(len(batch[0]))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.0)

        def train_dataloader(self) -> DataLoader[Any]:
            return DataLoader(TensorDataset(torch.zeros(40_000, 1)), self.batch_size)

        def val_dataloader(self) -> DataLoader[Any]:
            times = memory.scenario.val_times
            return DataLoader(TensorDataset(torch.zeros(4 * times * self.batch_size, 1)), times * self.batch_size)

    return Module()


TOOLS: dict[str, tuple[str, Callable[[str], Answer]]] = {
    "rigwise": ("rigwise", rigwise),
    "Lightning power": ("lightning", partial(lightning, "power")),
    "Lightning binsearch": ("lightning", partial(lightning, "binsearch")),
    "accelerate": ("accelerate", accelerate),
}


def survives(name: str, batch_size: int) -> bool:
    """Whether a run of 200 steps and a validation goes through."""
    training = build(name, batch_size)
    try:
        for step in range(RUN_STEPS):
            training.train_step(step)
        training.validate()
    except torch.OutOfMemoryError:
        return False
    return True


def cell(name: str, answer: Answer) -> tuple[str, bool]:
    """The answer in words, and whether it is right."""
    is_right = SCENARIOS[name].is_right(answer.value)
    words = str(answer.value)
    if isinstance(answer.value, int) and answer.value > answer.largest_run:
        words, is_right = f"{words}, never run", False
    elif isinstance(answer.value, int) and not survives(name, answer.value):
        words, is_right = f"{words}, run dies", False
    return f"{words} ({answer.steps} steps){'' if is_right else ' WRONG'}", is_right


def main() -> int:
    """0, with the table printed."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    right = dict.fromkeys(TOOLS, 0)
    print("| scenario | right | " + " | ".join(TOOLS) + " |\n|---|---|" + "---|" * len(TOOLS))
    for name, scenario in SCENARIOS.items():
        cells = []
        for tool, (package, search) in TOOLS.items():
            if importlib.util.find_spec(package) is None:
                cells.append("not installed")
                continue
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                words, is_right = cell(name, search(name))
            right[tool] += is_right
            cells.append(words)
        print(f"| {name} | {scenario.right} | " + " | ".join(cells) + " |", flush=True)
    print("| right | | " + " | ".join(f"{count} of {len(SCENARIOS)}" for count in right.values()) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
