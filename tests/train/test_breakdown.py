"""The prediction without memory: what a trace gives for trainings as people write them, and for timm's models."""

from collections.abc import Callable
from functools import partial
from typing import Any

import batch_trainings as trainings
import pytest
from torch._subclasses.fake_tensor import DataDependentOutputException
from training_lab import TINY_MODEL

import rigwise
from rigwise.records.batch import BatchProbe
from rigwise.train.batch.breakdown import Prediction, predict, traced
from rigwise.train.batch.for_pictures import PictureTraining
from rigwise.train.batch.sizes import first_size
from rigwise.train.picture_lab import PictureLab
from rigwise.train.step.plan import SMALLEST_BATCH
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.units import GIB, MIB

ATTENTION_MODEL = "test_vit.r160_in1k"
MakeLab = Callable[..., PictureLab]


def predicted(build: Callable[[int], Any]) -> Prediction:
    device = partial(trainings.simulated, 16 * MIB)
    return predict(build, device, smallest=1, most=1000, silence_seconds=60.0)


@pytest.mark.parametrize("model", [TINY_MODEL, ATTENTION_MODEL], ids=["BatchNorm", "attention"])
def test_the_search_on_a_timm_model_starts_where_the_trace_says(make_lab: MakeLab, model: str) -> None:
    make_device = partial(trainings.simulated, 20 * MIB)
    lab = make_lab(device=make_device(), model=model)
    build = PictureTraining(material=lab.material, make_device=make_device)
    most = len(lab.pictures.train)
    prediction = predict(build, make_device, smallest=SMALLEST_BATCH, most=most, silence_seconds=60.0)
    assert prediction.batch_size is not None
    with pytest.raises(Probed) as caught:
        rigwise.find_batch(build, most=most, smallest=SMALLEST_BATCH, make_device=make_device, told=end_the_search)
    assert caught.value.args == (first_size(prediction.batch_size, SMALLEST_BATCH, most),)


class Probed(Exception):
    """The first size that was tried."""


def end_the_search(probe: BatchProbe) -> None:
    raise Probed(probe.batch_size)


@pytest.mark.parametrize("model", [TINY_MODEL, ATTENTION_MODEL], ids=["BatchNorm", "attention"])
def test_the_traced_peak_of_a_timm_model_is_the_measured_one(make_lab: MakeLab, model: str) -> None:
    lab = make_lab(model=model)
    build = PictureTraining(material=lab.material, make_device=trainings.cpu)
    with simulate_vram(1000 * MIB) as vram:
        training = build(8)
        vram.track(training.model)
        for step in range(2):
            training.train_step(step)
    assert traced(build, 8).peak_bytes == pytest.approx(vram.peak_allocated_bytes, rel=0.03)


def test_a_step_that_asks_for_values_is_traced_all_the_same() -> None:
    plain, asking = predicted(trainings.real), predicted(partial(trainings.of_kind, trainings.AsksForValues))
    assert plain.batch_size is not None
    assert asking.batch_size == pytest.approx(plain.batch_size, rel=0.05)


def test_a_shape_that_only_values_tell_predicts_nothing() -> None:
    assert predicted(partial(trainings.of_kind, trainings.ReadsAShape)) == Prediction()
    with pytest.raises(DataDependentOutputException):
        traced(partial(trainings.of_kind, trainings.ReadsAShape), 8)


def test_tied_weights_count_once_and_optimiser_state_that_is_there_already_counts() -> None:
    breakdown = traced(trainings.moved, 8)
    parameters = 4 * (32 * 32 + 32 + 2 * 32)
    buffers = 4 * 2 * 32 + 8
    assert breakdown.parameters_bytes == parameters + buffers
    assert breakdown.gradients_bytes == parameters
    assert breakdown.optimizer_bytes == 2 * parameters + 4 * 4


def test_the_trace_takes_no_memory_for_its_activations() -> None:
    """64 GiB are traced on any machine."""
    assert traced(trainings.wide, 2**16).activations_bytes > 64 * GIB


@pytest.mark.parametrize(("bf16", "mib"), [(False, 791), (True, 506)], ids=["fp32", "bf16 autocast"])
def test_b47_resnet18_at_batch_32_is_what_torchs_own_tracker_says(bf16: bool, mib: int) -> None:
    """With SGD and momentum at 224 pixels; its tracker leaves out the batch itself."""
    batch_bytes = 32 * 3 * 224 * 224 * 4
    breakdown = traced(partial(trainings.resnet18, bf16), 32)
    assert breakdown.peak_bytes - batch_bytes == pytest.approx(mib * MIB, rel=0.03)
