"""The predicted peak: by hand, against real steps, against published figures, and where it cannot be told."""

from functools import partial

import pytest
import timm
import torch
from knob_trials import (
    batches,
    fresh_inputs_that_read_values,
    fresh_small_inputs,
    inputs,
    plan,
    small_network,
)
from simulated_gpu import SimulatedGpu
from torch import nn

from rigwise.records.knobs import Peak
from rigwise.train.knobs.peaks import peak_of, predicted_peaks
from rigwise.train.step.state import begin_trial
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.units import GIB, MIB


def test_the_parts_of_a_linear_layer_by_hand() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(768, 1024))
    peak = peak_of(plan(), inputs(model))
    weights = (768 * 1024 + 1024) * 4
    assert peak.parameters_bytes == weights
    assert peak.optimizer_bytes == 2 * weights + 2 * 512  # two moments; the step counters are rounded up to a block
    assert peak.gradients_bytes == weights
    assert peak.total_bytes == sum(getattr(peak, name) for name in Peak.__struct_fields__)


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"optimizer": "sgd"},
        {"optimizer_in_backward": True},
        {"checkpointing": True},
        {"accumulation_steps": 2},
        {"ema_decay": 0.9},
        {"channels_last": True},
        {"freeze_backbone": True},
    ],
    ids=str,
)
def test_the_prediction_is_what_real_steps_take(knobs: dict[str, object]) -> None:
    vram = simulate_vram(8 * GIB)
    device = SimulatedGpu(vram)
    with device.using():
        state = begin_trial(plan(**knobs), inputs(small_network()), device)
        vram.track(state.model)
        for batch in batches(2):
            state.take_step(batch)
    predicted = peak_of(plan(**knobs), inputs(small_network()))
    assert predicted.total_bytes == pytest.approx(vram.peak_allocated_bytes, rel=0.05)


@pytest.mark.parametrize(("precision", "expected_mib"), [("fp32", 791), ("bf16", 506)])
def test_b47_the_published_peaks_of_resnet18(precision: str, expected_mib: int) -> None:
    model = timm.create_model("resnet18", num_classes=1000)
    given = inputs(model, batch_size=32, image_size=224)
    peak = peak_of(plan(precision, batch_size=32, optimizer="sgd"), given)
    assert peak.total_bytes / MIB == pytest.approx(expected_mib, rel=0.03)
    assert peak.activations_bytes > peak.total_bytes / 2


def test_an_update_that_reads_values_can_be_traced() -> None:
    light, usual = (
        peak_of(plan(optimizer=name), inputs(nn.Sequential(nn.Flatten(), nn.Linear(768, 256))))
        for name in ("adafactor", "adamw")
    )
    assert 0 < light.optimizer_bytes < usual.optimizer_bytes / 10
    assert light.activations_bytes == usual.activations_bytes


def test_the_model_and_random_numbers_of_this_process_are_not_touched() -> None:
    chance = torch.get_rng_state()
    found = predicted_peaks(fresh_small_inputs, [plan(), plan("fp16", batch_size=16, compile=True)])
    assert torch.equal(torch.get_rng_state(), chance)
    small, large = found
    assert isinstance(small, Peak)
    assert isinstance(large, Peak)
    assert large.activations_bytes > small.activations_bytes


def test_a_model_that_reads_shapes_from_tensors_is_a_note_and_the_next_goes_on() -> None:
    why, again = predicted_peaks(fresh_inputs_that_read_values, [plan(), plan()])
    assert isinstance(why, str)
    assert why == again
    assert "DataDependentOutputException" in why


def test_shared_weights_count_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(16, 16, bias=False)
            self.second = nn.Linear(16, 16, bias=False)
            self.second.weight = self.first.weight

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(pictures.mean((1, 2))))

    assert peak_of(plan(), inputs(Tied())).parameters_bytes == 16 * 16 * 4


def test_dropout_and_label_smoothing_can_be_traced() -> None:
    assert peak_of(plan(label_smoothing=0.1), inputs(partial(small_network, dropout=0.5)())).total_bytes
