"""`--find-batch` and `--ceilings` on texts: the longest sequences first, tokens mapped again in the child processes."""

import pickle
from collections.abc import Callable
from functools import partial

import batch_trainings as trainings
import pytest
import torch
from text_laboratory import write_records

from rigwise.telemetry.reading import load_run
from rigwise.train.batch.breakdown import traced
from rigwise.train.batch.for_text import TextTraining, with_found_text_batch
from rigwise.train.batch.search import Effort
from rigwise.train.batch.verdict import NoBatchHolds
from rigwise.train.experiment import run_experiment
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.train.text_lab import TextLab
from rigwise.train.trial_ceilings import trial_ceilings
from rigwise.units import MIB

MakeLab = Callable[..., TextLab]
SHORT = Effort(soak_steps=6)


def test_the_size_found_is_trained_and_kept_in_the_run(make_text_lab: MakeLab) -> None:
    make_device = partial(trainings.simulated, 4 * MIB)
    before = make_text_lab(device=make_device(), context=64, batch_size=2)
    lab = with_found_text_batch(before, make_device, SHORT)
    rows = {row.name: row for row in run_experiment(lab).rows}
    lab.writer.flush()
    found = load_run(lab.folder.path).batch_search
    assert found is not None
    assert found.batch_size > 2
    assert found.proof.steps == 6
    assert rows["cuda fp32"].batch_size == found.batch_size
    assert rows["cuda fp32"].not_run is None
    assert rows["cuda fp32"].note == ""


def test_one_long_document_among_short_ones_decides(make_text_lab: MakeLab, tmp_path: object) -> None:
    assert hasattr(tmp_path, "joinpath")
    short = [{"prompt": f"{number} ", "completion": "short"} for number in range(200)]
    sizes = []
    for name, longest in (("even", 1), ("late", 120)):
        root = tmp_path.joinpath(name)
        root.mkdir()
        long = [{"prompt": "long ", "completion": "y" * longest} for _ in range(2)]
        write_records(root / "train.jsonl", [*short, *long])
        write_records(root / "val.jsonl", short[:20])
        make_device = partial(trainings.simulated, 3 * MIB)
        lab = make_text_lab(device=make_device(), root=root, context=128, batch_size=2)
        assert not lab.material.packed
        sizes.append(with_found_text_batch(lab, make_device, SHORT).recipe.training.batch_size)
    assert sizes[1] < 0.5 * sizes[0]


def test_nothing_fits_says_where_the_bytes_go(make_text_lab: MakeLab) -> None:
    make_device = partial(trainings.simulated, MIB // 16)
    with pytest.raises(NoBatchHolds, match="batch 2 does not fit") as caught:
        with_found_text_batch(make_text_lab(device=make_device()), make_device, SHORT)
    assert "activations" in caught.value.why


def test_the_traced_peak_is_near_the_measured_one(make_text_lab: MakeLab) -> None:
    lab = make_text_lab(context=64, width=32)
    training = TextTraining(material=lab.material, make_device=CpuDevice)
    predicted = traced(training, 16)
    vram = simulate_vram(1024 * MIB)
    with vram:
        measured = training(16)
        vram.track(measured.model)
        for step in range(3):
            measured.train_step(step)
    assert predicted.parameters_bytes == sum(p.numel() * 4 for p in measured.model.parameters())
    assert predicted.optimizer_bytes >= 2 * predicted.parameters_bytes
    assert predicted.peak_bytes == pytest.approx(vram.peak_allocated_bytes, rel=0.1)


def test_what_a_child_process_is_sent_gives_the_same_batches(make_text_lab: MakeLab) -> None:
    material = make_text_lab().material
    sent = pickle.loads(pickle.dumps(material))
    for one, other in zip(
        material.stream("train", 3).train_batches(4), sent.stream("train", 3).train_batches(4), strict=True
    ):
        assert all(torch.equal(*pair) for pair in zip(one, other, strict=True))


def test_a_trial_is_measured_stage_by_stage_and_leaves_no_trace(make_text_lab: MakeLab) -> None:
    lab = make_text_lab()
    trial = run_experiment(lab).rows[-1]
    chance = torch.get_rng_state()
    report = trial_ceilings(lab, trial)
    assert torch.equal(torch.get_rng_state(), chance)
    assert report.ceiling("loader") is not None
    assert report.ceiling("compute") is not None
    assert report.actual.samples_per_step == trial.batch_size
    assert report.refused == ()
    (workers,) = (lever for lever in report.levers if lever.name.startswith("workers"))
    assert workers.why_not
