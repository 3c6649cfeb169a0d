"""An exported model on a card gives what it gives on the CPU. Run by scripts/gpu_acceptance; always imported."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from rigwise.train.export.model_folder import open_model
from rigwise.train.export.pictures import leave_model, trained_model
from rigwise.train.full_trial import run_full_trial
from rigwise.train.picture_lab import PictureLab
from rigwise.train.predict.predictor import GPU_TOLERANCE, predictor_of
from rigwise.train.step.device import CudaDevice

pytestmark = pytest.mark.gpu
Note = Callable[[str, object], None]


def test_cuda_answers_equal_those_of_the_cpu(make_lab: Callable[..., PictureLab], record_property: Note) -> None:
    lab = make_lab(device=CudaDevice())
    _, left = run_full_trial(lab, "cuda fp32", "fp32", 8)
    assert left is not None
    card = leave_model(lab, left.result, trained_model(lab, left))
    assert card.program
    assert card.accuracy.total == len(lab.pictures.test)
    model = open_model(lab.folder.path)
    paths: list[Path] = [lab.pictures.root / picture.path for picture in (*lab.pictures.val, *lab.pictures.train)]
    on_cuda, on_cpu = predictor_of(model, device="cuda", top=3), predictor_of(model, device="cpu", top=3)
    expected = [{guess.label: guess.probability for guess in each.top} for each in on_cpu(paths)]
    found = [{guess.label: guess.probability for guess in each.top} for each in on_cuda(paths)]
    differences = [abs(one[label] - other[label]) for one, other in zip(expected, found, strict=True) for label in one]
    record_property("largest_difference", f"{max(differences):.2g}")
    assert (on_cuda.device, on_cuda.notes) == ("cuda:0", [])
    assert max(differences) <= GPU_TOLERANCE
    assert not torch.backends.cuda.matmul.allow_tf32
