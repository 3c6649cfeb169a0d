"""How ranks are asked for, and what inputs that know nothing of ranks give each of them."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import nn
from training_lab import small_recipe

from rigwise.errors import BadInput
from rigwise.train.ranks.rows import Rows
from rigwise.train.ranks.setup import ranks_setup
from rigwise.train.ranks.torchrun import started_by_torchrun
from rigwise.train.ranks.whole import WholeMaterial
from rigwise.train.step.device import CpuDevice, Device
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import Batch, TrialInputs

OURS = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}


def counting(batch_size: int, device: Device) -> TrialInputs:
    """Batches of consecutive numbers; every split is scored as 7 of 9 right."""

    def batches(num_steps: int, first: int) -> Iterator[Batch]:
        for step in range(first, first + num_steps):
            yield [torch.arange(step * batch_size, (step + 1) * batch_size)]

    def score(model: nn.Module, precision: str) -> Scored:
        return cast(Scored, SimpleNamespace(mean_loss=0.5, num_correct=7, num_answers=9))

    def loss(model: nn.Module, batch: Batch) -> torch.Tensor:
        return model(batch[0].float()).mean()

    return TrialInputs(model=nn.Identity(), loss=loss, train_batches=batches, validate=score, review=score)


def test_each_rank_takes_its_rows_of_whole_batches_and_scores_count_once() -> None:
    material = WholeMaterial(counting)
    inputs = [material.inputs_of(Rows(rank, 2), 5, CpuDevice()) for rank in range(2)]
    rows: list[Any] = [[batch[0].tolist() for batch in each.train_batches(2, 1)] for each in inputs]
    assert rows == [[[5, 6, 7], [10, 11, 12]], [[8, 9], [13, 14]]]
    scores = material.joined([each.validate(nn.Identity(), "fp32") for each in inputs])
    assert (scores.num_correct, scores.num_answers) == (7, 9)


def test_a_torchrun_job_is_known_by_its_variables() -> None:
    assert started_by_torchrun({}) is None
    assert started_by_torchrun(OURS) == (1, 2)
    with pytest.raises(BadInput, match="16 ranks, 8 of them on this machine"):
        started_by_torchrun({"RANK": "1", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"})


def test_ranks_on_the_cpu_are_started_only_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    setup = ranks_setup(2, small_recipe(batch_size=8))
    assert (setup.num_ranks, setup.backend, setup.uuids) == (2, "gloo", ())
    with pytest.raises(BadInput, match="PyTorch sees no GPU"):
        ranks_setup(0)
    with pytest.raises(BadInput, match="a batch of 3 is too small for 2 ranks"):
        ranks_setup(2, small_recipe(batch_size=3))


def test_more_ranks_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(BadInput, match="2 ranks need as many GPUs, and PyTorch sees 1"):
        ranks_setup(2, small_recipe(batch_size=8))
