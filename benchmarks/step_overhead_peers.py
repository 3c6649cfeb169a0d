"""Other people's training loops, set up for step_overhead.py: Fabric, accelerate, Lightning, Trainer; where installed.

Each is as light as its own settings make it: no progress bar, no checkpoints, no log files, losses not read back.
"""

import importlib.util
import logging
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

StepEnds = list[float]
"""`time.perf_counter()` at the end of each step."""
Schedule = torch.optim.lr_scheduler.LRScheduler
Run = Callable[[nn.Module, Schedule, DataLoader[Any]], StepEnds]
"""The optimiser is the schedule's."""


class SameBatch(Dataset[tuple[Tensor, Tensor]]):
    """One batch, again and again: what a loader costs is the same for every loop."""

    def __init__(self, batch: tuple[Tensor, Tensor], steps: int) -> None:
        self._batch = batch
        self._steps = steps

    def __len__(self) -> int:
        return self._steps

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self._batch


def loader(batch: tuple[Tensor, Tensor], steps: int) -> DataLoader[Any]:
    """Hands over the batch as it is."""
    return DataLoader(SameBatch(batch, steps), batch_size=None)


def loops(ours: dict[str, Run]) -> Iterator[tuple[str, Run]]:
    """A bare loop over the same loader, ours, and those of others that are installed here."""
    yield "bare loop, loader", bare
    yield from ours.items()
    named = {
        "Fabric": ("lightning", fabric),
        "accelerate": ("accelerate", accelerate),
        "Lightning": ("lightning", lightning),
        "Trainer": ("transformers", trainer),
    }
    for name, (module, run) in named.items():
        if importlib.util.find_spec(module):
            yield name, run
        else:
            print(f"{name} is not installed: left out")


def bare(model: nn.Module, schedule: Schedule, batches: DataLoader[Any]) -> StepEnds:
    """Nothing but PyTorch."""
    optimizer, ends = schedule.optimizer, []
    for rows, labels in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(rows), labels).backward()
        optimizer.step()
        schedule.step()
        ends.append(time.perf_counter())
    return ends


def fabric(model: nn.Module, schedule: Schedule, batches: DataLoader[Any]) -> StepEnds:
    """Lightning Fabric."""
    from lightning.fabric import Fabric

    own = Fabric(accelerator="cpu", devices=1)
    wrapped, own_optimizer = own.setup(model, schedule.optimizer)
    ends = []
    for rows, labels in own.setup_dataloaders(batches):
        own_optimizer.zero_grad()
        own.backward(nn.functional.cross_entropy(wrapped(rows), labels))
        own_optimizer.step()
        schedule.step()
        ends.append(time.perf_counter())
    return ends


def accelerate(model: nn.Module, schedule: Schedule, batches: DataLoader[Any]) -> StepEnds:
    """Hugging Face accelerate."""
    from accelerate import Accelerator

    own = Accelerator(cpu=True)
    wrapped, own_optimizer, own_batches = own.prepare(model, schedule.optimizer, batches)
    ends = []
    for rows, labels in own_batches:
        own_optimizer.zero_grad()
        own.backward(nn.functional.cross_entropy(wrapped(rows), labels))
        own_optimizer.step()
        schedule.step()
        ends.append(time.perf_counter())
    return ends


def lightning(model: nn.Module, schedule: Schedule, batches: DataLoader[Any]) -> StepEnds:
    """Lightning's Trainer."""
    import lightning.pytorch as pl

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    ends: StepEnds = []

    class Own(pl.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
            return nn.functional.cross_entropy(self.model(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return [schedule.optimizer], [{"scheduler": schedule, "interval": "step"}]

        def on_train_batch_end(self, *_: object) -> None:
            ends.append(time.perf_counter())

    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pl.Trainer(accelerator="cpu", devices=1, max_epochs=1, **quiet).fit(Own(), batches)
    return ends


def trainer(model: nn.Module, schedule: Schedule, batches: DataLoader[Any]) -> StepEnds:
    """Hugging Face Trainer."""
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    ends: StepEnds = []

    class Ends(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: object, **__: object) -> None:
            ends.append(time.perf_counter())

    class Own(Trainer):  # type: ignore[misc]
        def get_train_dataloader(self) -> Any:
            return self.accelerator.prepare(batches)

        def compute_loss(self, model: nn.Module, inputs: Any, *_: object, **__: object) -> Tensor:
            return nn.functional.cross_entropy(model(inputs[0]), inputs[1])

        def _prepare_inputs(self, inputs: Any) -> Any:
            return inputs

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=len(batches),
            use_cpu=True,
            report_to=[],
            logging_strategy="no",
            save_strategy="no",
            disable_tqdm=True,
            max_grad_norm=0.0,
        )
        own = Own(model, arguments, callbacks=[Ends()], optimizers=(schedule.optimizer, schedule))
        own.remove_callback(PrinterCallback)
        own.train()
    return ends
