"""The same promises as on the CPU, kept on a real card. Run by scripts/gpu_acceptance; always imported."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from rigwise.telemetry.reading import load_run
from rigwise.train.experiment import run_experiment
from rigwise.train.network.model import build_model
from rigwise.train.picture_lab import PictureLab
from rigwise.train.smoke import smoke
from rigwise.train.step.device import CudaDevice
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.step_clock import CudaClock

pytestmark = pytest.mark.gpu
Note = Callable[[str, object], None]


def test_one_batch_agrees_with_the_cpu(record_property: Note) -> None:
    built = build_model("tf_efficientnet_lite0", 5)
    images = torch.randint(0, 256, (8, 3, 224, 224), dtype=torch.uint8)
    report = smoke(
        built.model, Normalise(built.mean, built.std), images, torch.arange(8) % 5, CudaDevice(), no_gpu=""
    ).report
    record_property("links", "; ".join(f"{link.name}: {link.text}" for link in report.links))
    assert report.first_broken is None


def test_event_times_add_up_to_the_wall_time(record_property: Note) -> None:
    matrix = torch.randn(4096, 4096, device="cuda")
    for _ in range(3):
        matrix @ matrix
    torch.cuda.synchronize()
    clock = CudaClock()
    began = time.perf_counter()
    for _ in range(50):
        matrix @ matrix
        clock.end_step()
    total = sum(clock.ready(wait=True))
    wall = time.perf_counter() - began
    record_property("event_over_wall", round(total / wall, 3))
    assert total == pytest.approx(wall, rel=0.1)


def test_batches_for_a_gpu_are_pinned_and_the_same(make_lab: Callable[..., PictureLab]) -> None:
    batches = list(make_lab(device=CudaDevice()).material.stream(make_lab().pictures.train, 4).train_batches(3))
    plain = list(make_lab().material.stream(make_lab().pictures.train, 4).train_batches(3))
    assert all(images.is_pinned() for images, _ in batches)
    assert all(torch.equal(one[0], other[0]) for one, other in zip(batches, plain, strict=True))


def test_every_row_of_the_experiment_is_measured(make_lab: Callable[..., PictureLab], record_property: Note) -> None:
    lab = make_lab(device=CudaDevice())
    experiment = run_experiment(lab)
    full = [row for row in experiment.rows if row.val_total]
    record_property("rows", "; ".join(f"{row.name} {row.images_per_second:.0f} img/s" for row in full))
    assert {row.precision for row in full} == {"fp32", CudaDevice().mixed_precision}
    for row in full:
        assert row.not_run is None
        assert row.peak_allocated_bytes
        assert row.peak_reserved_bytes >= row.peak_allocated_bytes
    lab.writer.flush()
    steps = load_run(lab.folder.path).steps
    assert len(steps) == sum(row.steps for row in full)
    assert all(step.step_seconds > 0 for step in steps)


def test_out_of_memory_halves_the_batch(make_lab: Callable[..., PictureLab], record_property: Note) -> None:
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.empty_cache()
    # PyTorch itself refuses to go beyond this share, so the card's real memory does not matter.
    torch.cuda.set_per_process_memory_fraction(400 * 2**20 / total)
    try:
        rows = run_experiment(make_lab(device=CudaDevice(), image_size=224, batch_size=256, model="resnet50")).rows
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    refused = [row for row in rows if row.not_run and "out of memory" in row.not_run]
    record_property("refused", ", ".join(f"{row.name} batch {row.batch_size}" for row in refused))
    assert refused


def test_nvml_and_nvidia_smi_agree(record_property: Note) -> None:
    from rigwise.probes.rig import read_rig
    from rigwise.sources.live import LiveSource

    def ask(field: str) -> str:
        argv = ["nvidia-smi", "-i", "0", f"--query-gpu={field}", "--format=csv,noheader,nounits"]
        return subprocess.check_output(argv, text=True).strip()

    before = int(ask("temperature.gpu"))
    gpu = read_rig(LiveSource()).gpus[0]
    after = int(ask("temperature.gpu"))
    record_property("gpu", gpu.label)
    assert gpu.name.need() == ask("name")
    assert gpu.uuid.need() == ask("uuid")
    assert round(gpu.memory_total_bytes.need() / 2**20) == int(ask("memory.total"))
    assert min(before, after) - 3 <= gpu.temperature_celsius.need() <= max(before, after) + 3


def test_the_page_of_a_gpu_run_has_its_memory(make_lab: Callable[..., PictureLab], tmp_path: Path) -> None:
    from rigwise.report.html import render_report

    lab = make_lab(device=CudaDevice())
    run_experiment(lab)
    lab.writer.flush()
    page = render_report(load_run(lab.folder.path))
    assert "VRAM" in page
