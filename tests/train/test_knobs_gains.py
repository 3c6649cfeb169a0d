"""What knobs cost and gain: weighed from fake timings, and measured on real steps."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import msgspec
import pytest
import torch
from knob_trials import batches, begun, plan
from simulated_gpu import SimulatedGpu

from rigwise.records.knobs import KnobResult, KnobsReport, Peak
from rigwise.train.ceilings.comparing import Sides, judge
from rigwise.train.ceilings.lever import Lever
from rigwise.train.ceilings.pace import Block
from rigwise.train.full_trial import run_full_trial
from rigwise.train.knobs.allocator import grow_segments
from rigwise.train.knobs.gains import first_steps, trial_peaks, with_knobs
from rigwise.train.knobs.section import KnobsSection
from rigwise.train.knobs.variants import variants
from rigwise.train.knobs.weighing import Side, weigh
from rigwise.train.picture_lab import PictureLab
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.units import GIB

MakeLab = Callable[..., PictureLab]
ALIKE = Side(losses=(1.0, 0.5), gradient=torch.ones(4))


def peak(total_bytes: int) -> Peak:
    return Peak(
        parameters_bytes=0,
        gradients_bytes=0,
        optimizer_bytes=0,
        activations_bytes=total_bytes,
        temporary_bytes=0,
    )


def weighed(
    knob: dict[str, Any],
    seconds: Sequence[float],
    *,
    setup_seconds: float = 0.0,
    planned_steps: int = 200,
    before_bytes: int = 100,
    after_bytes: int = 100,
    on: Side = ALIKE,
) -> KnobResult:
    """A knob whose steps took these seconds with it, and one second without."""
    (variant,) = variants(KnobsSection(**knob), precision="fp32", every=False, on_gpu=True)

    def blocks(each: Sequence[float]) -> tuple[Block, ...]:
        return tuple(Block(samples=8, steps=1, seconds=one) for one in each)

    sides = Sides(before=blocks([1.0] * len(seconds)), after=blocks(seconds), setup_seconds=setup_seconds)
    timed = judge(Lever(name=variant.name), sides, planned_steps)
    off = msgspec.structs.replace(ALIKE, predicted=peak(before_bytes))
    return weigh(variant, timed, off, msgspec.structs.replace(on, predicted=peak(after_bytes)))


def test_b102_channels_last_that_is_slower_is_not_kept() -> None:
    result = weighed({"channels_last": True}, [40.0] * 6)
    assert not result.kept
    assert result.step_time_ratio == pytest.approx(40)
    assert "a step takes 40.0 times as long" in result.because


def test_b103_compiling_that_is_earned_back_too_late_is_not_kept() -> None:
    late = weighed({"compile": True}, [0.75] * 6, setup_seconds=60, planned_steps=200)
    assert not late.kept
    assert "earned back after 240 steps; 200 are planned" in late.because
    assert weighed({"compile": True}, [0.75] * 6, setup_seconds=60, planned_steps=240).kept


def test_a_faster_step_is_kept_and_noise_is_not() -> None:
    assert weighed({"optimizer": "adamw_fused"}, [0.9] * 6).kept
    noisy = weighed({"optimizer": "adamw_fused"}, [0.8, 1.2, 0.7, 1.3, 0.9, 1.1])
    assert not noisy.kept
    assert "no difference in time beyond the noise" in noisy.because


def test_memory_saved_without_a_slower_step_is_kept() -> None:
    result = weighed({"optimizer_in_backward": True}, [1.0] * 6, after_bytes=70)
    assert result.kept
    assert result.predicted_ratio == 0.7
    assert "the peak is 30.0 % lower" in result.because


def test_memory_saved_by_a_slower_step_is_a_trade() -> None:
    result = weighed({"checkpointing": True}, [1.3] * 6, after_bytes=50)
    assert "worth it where memory is short" in result.because
    assert result.kept, "it is in the recipe"


def test_what_is_measured_counts_more_than_what_is_predicted() -> None:
    (variant,) = variants(KnobsSection(checkpointing=True), precision="fp32", every=False, on_gpu=True)
    blocks = tuple(Block(samples=8, steps=1, seconds=1.0) for _ in range(6))
    timed = judge(Lever(name="x"), Sides(before=blocks, after=blocks, setup_seconds=0.0), None)
    off, on = (msgspec.structs.replace(ALIKE, predicted=peak(size), peak_bytes=100) for size in (100, 50))
    assert "the peak is the same" in weigh(variant, timed, off, on).because


def test_another_gradient_is_told_and_not_kept() -> None:
    other = msgspec.structs.replace(ALIKE, gradient=torch.tensor([1.0, 1.0, 1.0, 2.0]))
    result = weighed({"accumulation_steps": 2}, [0.9] * 6, on=other)
    assert result.gradient_difference_ratio == 0.5
    assert "the first gradient differs by 0.500 of its length" in result.because


def test_what_changes_learning_is_left_to_the_validation() -> None:
    result = weighed({"ema_decay": 0.9}, [1.1] * 6)
    assert result.loss_difference_ratio is None
    assert "the validation decides" in result.because


# Which knobs


def test_nothing_is_compared_when_no_knob_is_on() -> None:
    assert list(variants(KnobsSection(), precision="fp32", every=False, on_gpu=True)) == []


def test_every_knob_is_named_and_each_says_why_it_cannot_be_compared() -> None:
    named = {one.name: one for one in variants(KnobsSection(), precision="fp16", every=True, on_gpu=False)}
    fields = {name.split(" = ")[0] for name in named}
    assert set(KnobsSection.__struct_fields__) - fields == {"validations", "min_delta"}
    assert "loss scale" in named["optimizer_in_backward"].why_not
    assert "only on a GPU" in named["compile"].why_not
    assert "compare two runs" in named["expandable_segments"].why_not


def test_a_knob_of_the_recipe_is_compared_with_the_recipe_without_it() -> None:
    knobs = KnobsSection(optimizer="sgd", checkpointing=True)
    found = {one.name: one for one in variants(knobs, precision="fp32", every=False, on_gpu=False)}
    assert set(found) == {"optimizer = sgd", "checkpointing"}
    assert found["checkpointing"].on == knobs
    assert found["checkpointing"].off == KnobsSection(optimizer="sgd")


# Measured


@pytest.mark.parametrize(
    "knobs", [{"optimizer_in_backward": True}, {"accumulation_steps": 2}, {"clip_norm": 1e-3}], ids=str
)
def test_the_first_gradient_is_seen_whole(knobs: dict[str, Any]) -> None:
    def gradient(**knobs: Any) -> torch.Tensor:
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3))
        return first_steps(begun(model, plan(**knobs)), batches(1)).gradient

    torch.testing.assert_close(gradient(**knobs), gradient())


def test_the_recipes_knobs_are_measured_on_the_recommended_trial(make_lab: MakeLab) -> None:
    device = SimulatedGpu(simulate_vram(8 * GIB))
    lab = make_lab(device=device, image_size=64, steps=2)
    knobs = KnobsSection(checkpointing=True, accumulation_steps=2, expandable_segments=True)
    lab = msgspec.structs.replace(lab, recipe=msgspec.structs.replace(lab.recipe, knobs=knobs))
    ((row,), _) = run_full_trial(lab, "cuda fp32", "fp32", 8)
    report = with_knobs(lab, row, KnobsReport(peaks=trial_peaks(lab, [row])), every=False)
    (peak,) = report.peaks
    assert peak.predicted is not None
    assert row.peak_allocated_bytes is not None
    assert peak.predicted.total_bytes == pytest.approx(row.peak_allocated_bytes, rel=0.1)
    found = {knob.name: knob for knob in report.knobs}
    assert set(found) == {"checkpointing", "accumulation_steps = 2", "expandable_segments"}
    again = found["checkpointing"]
    assert again.num_pairs == 6
    assert again.gradient_difference_ratio == 0.0
    assert again.measured_ratio is not None
    assert again.measured_ratio < 0.95
    assert again.predicted_ratio == pytest.approx(again.measured_ratio, rel=0.15)
    assert "take statistics over the micro-batch" in found["accumulation_steps = 2"].because
    assert "compare two runs" in found["expandable_segments"].why_not


def test_a_knob_whose_library_is_missing_is_told(make_lab: MakeLab) -> None:
    if find_spec("bitsandbytes"):
        pytest.skip("bitsandbytes is installed here")
    lab = make_lab(steps=1)
    ((row,), _) = run_full_trial(lab, "cpu fp32", "fp32", 8)
    knobs = KnobsSection(optimizer="adamw8bit")
    lab = msgspec.structs.replace(lab, recipe=msgspec.structs.replace(lab.recipe, knobs=knobs))
    (found,) = with_knobs(lab, row, KnobsReport(), every=False).knobs
    assert (found.in_recipe, found.kept) == (True, False)
    assert "bitsandbytes" in found.why_not


# The allocator


def test_growing_segments_are_asked_for_before_cuda_starts() -> None:
    environment = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}
    words = grow_segments(environment, cuda_has_started=False)
    assert environment["PYTORCH_CUDA_ALLOC_CONF"] == "max_split_size_mb:64,expandable_segments:True"
    assert words.endswith("set before CUDA started")


def test_what_the_user_settled_stays() -> None:
    environment = {"PYTORCH_ALLOC_CONF": "expandable_segments:False"}
    words = grow_segments(environment, cuda_has_started=False)
    assert environment == {"PYTORCH_ALLOC_CONF": "expandable_segments:False"}
    assert "holds, as it was set" in words


def test_too_late_is_said() -> None:
    environment: dict[str, str] = {}
    assert "too late" in grow_segments(environment, cuda_has_started=True)
    assert environment == {}


def test_the_setting_reaches_pytorch() -> None:
    code = (
        "import os\n"
        "from rigwise.train.knobs.allocator import grow_segments\n"
        "grow_segments(cuda_has_started=False)\n"
        "import ctypes\n"
        "libc = ctypes.CDLL(None); libc.getenv.restype = ctypes.c_char_p\n"
        "print(libc.getenv(b'PYTORCH_CUDA_ALLOC_CONF').decode())\n"
    )
    environment = {name: value for name, value in os.environ.items() if "ALLOC_CONF" not in name}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "expandable_segments:True"
