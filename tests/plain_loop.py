"""A training loop as people write it: dropout, BatchNorm, a schedule, a DataLoader, noise from NumPy and Python."""

import random
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import rigwise

NUM_SAMPLES = 21


def dataset() -> TensorDataset:
    made = torch.Generator().manual_seed(5)
    return TensorDataset(
        torch.randn(NUM_SAMPLES, 6, generator=made), torch.randint(0, 3, (NUM_SAMPLES,), generator=made)
    )


def network(width: int = 8) -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, width), nn.BatchNorm1d(width), nn.Dropout(0.3), nn.Linear(width, 3))


class PlainLoop:
    """Trains from where its folder's checkpoints are; `losses` are those of the steps it took itself."""

    def __init__(self, folder: Path, *, every_steps: int = 2, num_workers: int = 0, batch_size: int = 4) -> None:
        torch.set_num_threads(1)  # sums of several threads differ in the last digit, here and in a child
        random.seed(3)
        np.random.seed(3)
        torch.manual_seed(3)
        self.losses: list[float] = []
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.model = network()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.05)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=20)
        self.checkpoints = rigwise.Checkpoints(folder, every_steps=every_steps)
        self.found = self.checkpoints.restore(replay=self.replay, **self.parts)
        self.step = self.found.step if self.found else 0
        self.samples_seen = self.found.samples_seen if self.found else 0

    @property
    def parts(self) -> dict[str, rigwise.Stateful]:
        return {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule}

    def run(self, num_steps: int) -> "PlainLoop":
        order = rigwise.SampleOrder(NUM_SAMPLES, seed=3, start=self.samples_seen)
        loader = DataLoader(
            dataset(),
            batch_size=self.batch_size,
            sampler=order,
            generator=order.generator,
            num_workers=self.num_workers,
        )
        for samples, labels in islice(loader, num_steps):
            self.losses.append(self.take_step(samples, labels))
            self.step += 1
            self.samples_seen += len(labels)
            if self.checkpoints.due(self.step):
                self.save()
        return self

    def take_step(self, samples: Tensor, labels: Tensor) -> float:
        noise = torch.from_numpy(np.random.normal(0, 0.01, samples.shape)).float() * random.random()
        loss = nn.functional.cross_entropy(self.model(samples + noise), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    def save(self) -> Path | None:
        return self.checkpoints.save(
            step=self.step,
            batch_size=self.batch_size,
            samples_seen=self.samples_seen,
            replay=self.replay,
            values={"best": min(self.losses, default=9.0)},
            **self.parts,
        )

    @torch.no_grad()
    def replay(self) -> float:
        samples, labels = dataset()[:8]
        self.model.eval()
        loss = nn.functional.cross_entropy(self.model(samples), labels).item()
        self.model.train()
        return loss
