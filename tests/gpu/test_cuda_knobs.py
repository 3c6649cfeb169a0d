"""The knobs on a real card: same training, less memory, as the prediction says. Run by scripts/gpu_acceptance."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import timm
import torch
from knob_trials import batches, inputs, plan
from torch import nn

from rigwise.train.knobs.peaks import peak_of
from rigwise.train.step.device import CudaDevice
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.picture_loss import mean_loss
from rigwise.train.step.state import TrialState, begin_trial

pytestmark = pytest.mark.gpu
Note = Callable[[str, object], None]
BATCH, SIZE = 32, 160


def resnet() -> nn.Module:
    torch.manual_seed(3)
    return timm.create_model("resnet18", num_classes=3)


def begun(device: CudaDevice, precision: str = "fp32", **knobs: Any) -> TrialState:
    gc.collect()
    given = inputs(resnet(), partial(mean_loss, Normalise([0.5] * 3, [0.5] * 3), device), BATCH, SIZE)
    return begin_trial(plan(precision, BATCH, **knobs), given, device)


def run(device: CudaDevice, precision: str = "fp32", **knobs: Any) -> tuple[list[float], int, TrialState]:
    """Losses of three steps, the peak in bytes, and the state."""
    state = begun(device, precision, **knobs)
    losses = []
    for batch in batches(3, BATCH, SIZE):
        losses.append(state.take_step(batch).item())
        state.stepped()
    memory = device.memory()
    return losses, memory.peak_allocated, state


@pytest.mark.parametrize("knobs", [{"optimizer": "adamw_fused"}, {"optimizer_in_backward": True}], ids=str)
def test_the_update_gives_the_same_losses(knobs: dict[str, Any], record_property: Note) -> None:
    device = CudaDevice()
    usual, usual_peak, _ = run(device)
    losses, peak, _ = run(device, **knobs)
    record_property("peak_ratio", round(peak / usual_peak, 3))
    assert losses == pytest.approx(usual, rel=2e-2)
    assert peak < 1.1 * usual_peak


def test_checkpointing_saves_memory_and_changes_nothing(record_property: Note) -> None:
    device = CudaDevice()
    torch.backends.cudnn.deterministic = True
    try:
        kept, kept_peak, first = run(device)
        again, again_peak, second = run(device, checkpointing=True)
    finally:
        torch.backends.cudnn.deterministic = False
    record_property("peak_ratio", round(again_peak / kept_peak, 3))
    assert again == pytest.approx(kept, rel=1e-3)
    assert again_peak < 0.9 * kept_peak
    for one, other in zip(first.model.buffers(), second.model.buffers(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-3)


def test_the_8_bit_optimiser_holds_a_quarter(record_property: Note) -> None:
    pytest.importorskip("bitsandbytes")

    def state_bytes(state: TrialState) -> int:
        held = (value for each in state.optimizer.state.values() for value in each.values())
        return sum(value.nbytes for value in held if isinstance(value, torch.Tensor))

    device = CudaDevice()
    _, _, usual = run(device)
    losses, _, light = run(device, optimizer="adamw8bit")
    ratio = state_bytes(light) / state_bytes(usual)
    record_property("state_ratio", round(ratio, 3))
    assert losses[-1] == losses[-1]
    assert ratio < 0.35


@pytest.mark.parametrize(
    ("precision", "knobs"), [("fp32", {}), ("bf16", {}), ("fp32", {"checkpointing": True})], ids=str
)
def test_the_prediction_is_a_lower_bound_near_the_measured_peak(
    precision: str, knobs: dict[str, Any], record_property: Note
) -> None:
    _, measured, _ = run(CudaDevice(), precision, **knobs)
    predicted = peak_of(
        plan(precision, BATCH, **knobs), inputs(resnet(), batch_size=BATCH, image_size=SIZE)
    ).total_bytes
    record_property("measured_over_predicted", round(measured / predicted, 3))
    assert 0.9 < measured / predicted < 2.0


def test_the_scale_of_fp16_is_out_of_the_gradient_before_it_is_clipped() -> None:
    losses, _, state = run(CudaDevice(), "fp16", clip_norm=1.0)
    assert state.take_step.precision == "fp16"
    assert all(loss == loss for loss in losses)


def test_segments_grow_where_that_was_asked_for_in_time() -> None:
    code = (
        "from rigwise.train.knobs.allocator import grow_segments\n"
        "import torch\n"
        "print(grow_segments(cuda_has_started=torch.cuda.is_initialized()))\n"
        "held = torch.empty(64 * 2**20, device='cuda')\n"
        "print(all(segment['is_expandable'] for segment in torch.cuda.memory_snapshot()))\n"
        "print(grow_segments({}, cuda_has_started=torch.cuda.is_initialized()))\n"
    )
    environment = {name: value for name, value in os.environ.items() if "ALLOC_CONF" not in name}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    before, grows, after = said.stdout.strip().splitlines()
    assert before.endswith("set before CUDA started")
    assert grows == "True"
    assert "too late" in after


def test_the_average_is_kept_beside_the_weights() -> None:
    _, _, state = run(CudaDevice(), ema_decay=0.9)
    assert state.average is not None
    assert all(parameter.is_cuda for parameter in state.average.module.parameters())
    assert int(state.average.n_averaged) == 3
