"""The guided experiment on texts: real steps on the CPU and on a simulated GPU."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from simulated_gpu import SimulatedGpu
from text_laboratory import WORDS, documents, write_records

from rigwise.telemetry.reading import load_run
from rigwise.train.choice import recommend
from rigwise.train.experiment import run_experiment
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.train.text.tokeniser import ByteTokeniser
from rigwise.train.text_lab import TextLab
from rigwise.train.text_notes import batching_notes
from rigwise.train.text_review import review_texts
from rigwise.units import GIB

MakeLab = Callable[..., TextLab]


def sums(path: Path) -> Path:
    return write_records(path, [{"prompt": f"{number} then ", "completion": str(number + 1)} for number in range(60)])


def test_without_a_gpu_every_cuda_row_says_why(make_text_lab: MakeLab) -> None:
    lab = make_text_lab()
    experiment = run_experiment(lab)
    rows = {row.name: row for row in experiment.rows}
    assert list(rows) == [
        *("cpu one batch", "cuda one batch", "cuda fp32", "cuda mixed precision", "cuda larger batch"),
        *("cpu fp32", "cpu bf16"),
    ]
    full = rows["cpu fp32"]
    assert (full.steps, full.batch_size, full.sequence_length, full.image_size) == (6, 4, 32, 0)
    assert full.num_tokens == 6 * 4 * 32
    assert full.tokens_per_second == pytest.approx(4 * 32 / full.step_mean_seconds)
    assert full.samples_per_second == pytest.approx(4 / full.step_mean_seconds)
    assert full.images_per_second is None
    assert 0 < full.num_epochs < 1
    assert full.val_loss_standard_error > 0
    assert full.val_total > 0
    lab.writer.flush()
    assert load_run(lab.folder.path).trials == experiment.rows


def test_equal_recipes_give_bit_equal_losses(make_text_lab: MakeLab) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        first, second = (run_experiment(make_text_lab()) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    losses = [[step.loss for step in experiment.steps] for experiment in (first, second)]
    assert losses[0] == losses[1]
    assert len(set(losses[0])) > 6


def test_training_learns_more_than_frequencies(make_text_lab: MakeLab) -> None:
    lab = make_text_lab(steps=150, batch_size=8, width=48, heads=4)
    experiment = run_experiment(lab)
    chosen = experiment.trained["cpu fp32"]
    review = review_texts(lab, chosen, ByteTokeniser())
    assert review.loss == pytest.approx(chosen.result.val_loss, abs=0.05)
    assert 2.0 < review.unigram_loss < 3.5
    assert review.loss < 0.7 * review.unigram_loss
    (words, *_) = (each.text for each in review.continuations)
    assert any(word in words for word in WORDS)


def test_the_worst_documents_come_first_with_what_surprised(make_text_lab: MakeLab, tmp_path: Path) -> None:
    texts = [{"text": text} for text in documents(30)] + [{"text": "\x1b[31mQZ#@!%^&*()QZ#@!%^&*()" * 3}]
    root = tmp_path / "data"
    root.mkdir()
    write_records(root / "train.jsonl", texts[:-5])
    write_records(root / "val.jsonl", texts[-5:])
    lab = make_text_lab(root=root, steps=40)
    review = review_texts(lab, run_experiment(lab).trained["cpu fp32"], ByteTokeniser())
    assert review.split == "val"
    worst = review.documents[0]
    assert worst.name == "val.jsonl:5"
    assert [each.loss for each in review.documents] == sorted((each.loss for each in review.documents), reverse=True)
    assert worst.excerpt.startswith("\x1b[31mQZ")  # the reports make it harmless
    assert 0 < worst.truth_probability < 0.1
    assert worst.before.endswith(worst.excerpt[: worst.excerpt.find(worst.truth)][-1:]) or worst.truth == "<end>"


def test_prompts_are_bucketed_and_only_completions_are_counted(make_text_lab: MakeLab, tmp_path: Path) -> None:
    lab = make_text_lab(root=sums(tmp_path / "sums.jsonl"))
    assert not lab.material.packed
    experiment = run_experiment(lab)
    rows = {row.name: row for row in experiment.rows}
    prompts = [each.prompt for each in review_texts(lab, experiment.trained["cpu fp32"], ByteTokeniser()).continuations]
    assert prompts
    assert all(prompt.endswith(" then ") for prompt in prompts)
    expected = sum(len(str(int(document.record))) + 1 for document in lab.texts.val)
    assert rows["cpu fp32"].val_total == expected
    said = " ".join(batching_notes(lab, ByteTokeniser()))
    assert "of the tokens are padding" in said


def test_a_gpu_with_room_runs_the_larger_batch_and_agrees(make_text_lab: MakeLab) -> None:
    lab = make_text_lab(device=SimulatedGpu(simulate_vram(GIB)))
    rows = {row.name: row for row in run_experiment(lab).rows}
    assert list(rows) == ["cpu one batch", "cuda one batch", "cuda fp32", "cuda bf16", "cuda bf16 larger batch"]
    assert all(row.not_run is None for row in rows.values())
    assert "relative difference of logits" in rows["cuda one batch"].note
    assert rows["cuda bf16 larger batch"].batch_size == 8


def test_a_full_gpu_keeps_the_batch_in_micro_batches_exactly(make_text_lab: MakeLab) -> None:
    def fp32_row(limit_bytes: int):  # noqa: ANN202 - a TrialResult
        lab = make_text_lab(device=SimulatedGpu(simulate_vram(limit_bytes)), batch_size=16, context=64)
        experiment = run_experiment(lab)
        (row,) = (row for row in experiment.rows if row.name == "cuda fp32")
        return row, [step.loss for step in experiment.trained["cuda fp32"].steps]

    whole, expected = fp32_row(GIB)
    kept, losses = fp32_row(int(whole.peak_allocated_bytes * 0.8))
    assert "micro-batches of 8 from now on, the batch stays 16" in kept.note
    assert "micro-batches give the gradient of the whole batch" in kept.note
    assert losses == pytest.approx(expected, rel=1e-4)


def test_half_the_context_takes_less_memory(make_text_lab: MakeLab) -> None:
    peaks = []
    for context in (64, 32):
        lab = make_text_lab(device=SimulatedGpu(simulate_vram(GIB)), context=context)
        peaks += [row.peak_allocated_bytes for row in run_experiment(lab).rows if row.name == "cuda fp32"]
    assert peaks[1] < 0.7 * peaks[0]


def test_the_recommendation_speaks_of_tokens(make_text_lab: MakeLab) -> None:
    chosen = recommend(run_experiment(make_text_lab()).rows, "", "rigwise train --from runs/1")
    assert chosen.trial in ("cpu fp32", "cpu bf16")
    assert "tokens/s and a loss of" in chosen.because
