"""Ranks on real cards: one with NCCL, and two where there are two."""

from collections.abc import Callable

import msgspec
import pytest
import rank_works
import torch

from rigwise.train.full_trial import run_full_trial
from rigwise.train.picture_lab import PictureLab
from rigwise.train.ranks.job import run_ranks
from rigwise.train.ranks.setup import ranks_setup
from rigwise.train.step.device import CudaDevice

pytestmark = pytest.mark.gpu
TOLERANCE = 0.02
"""Relative, of each loss: kernels are not deterministic on a GPU."""


def losses(lab: PictureLab, num_ranks: int) -> list[float]:
    """Of a trial in fp32; 0 for no ranks."""
    ranks = ranks_setup(num_ranks) if num_ranks else None
    rows, left = run_full_trial(msgspec.structs.replace(lab, ranks=ranks), "cuda fp32", "fp32", 8)
    assert left is not None, rows
    return [step.loss for step in left.steps]


def test_one_rank_trains_through_nccl(make_lab: Callable[..., PictureLab]) -> None:
    alone = losses(make_lab(CudaDevice()), 0)
    assert losses(make_lab(CudaDevice()), 1) == pytest.approx(alone, rel=TOLERANCE)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_ranks_have_the_loss_curve_of_one_gpu(make_lab: Callable[..., PictureLab]) -> None:
    alone = losses(make_lab(CudaDevice()), 0)
    assert losses(make_lab(CudaDevice()), 2) == pytest.approx(alone, rel=TOLERANCE)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_gpus_add_up() -> None:
    assert run_ranks(rank_works.Sum(), 2, backend="nccl") == 3.0
