"""A snapshot of a real card names the line that took its memory. Run by scripts/gpu_acceptance; always imported."""

from pathlib import Path

import pytest
import torch

import rigwise
from rigwise.train.memory_snapshot import leave_snapshot, start_recording, stop_recording
from rigwise.train.step.device import first_gpu
from rigwise.units import MIB

pytestmark = pytest.mark.gpu


def test_b83_b84_a_real_snapshot_names_this_file_and_opens_again(tmp_path: Path) -> None:
    gpu = first_gpu()
    assert gpu is not None
    start_recording(gpu)
    try:
        kept = torch.zeros(64 * MIB, dtype=torch.uint8, device=gpu.torch_device)
        text = leave_snapshot(gpu, tmp_path / "out_of_memory.pickle")
    finally:
        stop_recording(gpu)
    assert kept.numel() == 64 * MIB
    assert "test_cuda_memory_snapshot.py, line" in text
    summary = rigwise.read_memory_snapshot(tmp_path / "out_of_memory.pickle")
    assert summary.num_events > 0
    assert summary.live_bytes >= 64 * MIB
