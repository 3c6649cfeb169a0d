"""The experiment on texts on a real card. Run by scripts/gpu_acceptance; always imported."""

from collections.abc import Callable

import pytest
from text_laboratory import make_text_lab

from rigwise.train.batch.for_text import with_found_text_batch
from rigwise.train.batch.search import Effort
from rigwise.train.experiment import run_experiment
from rigwise.train.step.device import CudaDevice
from rigwise.train.text_lab import TextLab

__all__ = ["make_text_lab"]
pytestmark = pytest.mark.gpu
Note = Callable[[str, object], None]
MakeLab = Callable[..., TextLab]


def test_a_language_model_trains_in_fp32_and_bf16(make_text_lab: MakeLab, record_property: Note) -> None:
    lab = make_text_lab(device=CudaDevice(), steps=150, batch_size=16, context=128, width=64, heads=4)
    rows = {row.name: row for row in run_experiment(lab).rows}
    mixed = f"cuda {CudaDevice().mixed_precision}"
    for name in ("cuda fp32", mixed):
        record_property(name, f"{rows[name].tokens_per_second:.0f} tokens/s, loss {rows[name].val_loss:.3f}")
    assert rows["cuda one batch"].not_run is None
    assert "relative difference of logits" in rows["cuda one batch"].note
    for name in ("cuda fp32", mixed):
        assert rows[name].not_run is None
        assert rows[name].peak_allocated_bytes
        assert rows[name].val_loss < 2.0
    assert rows[mixed].val_loss == pytest.approx(rows["cuda fp32"].val_loss, abs=0.2)


def test_batches_for_a_gpu_are_pinned_and_the_same(make_text_lab: MakeLab) -> None:
    ours, theirs = (make_text_lab(device=device).material for device in (CudaDevice(), None))
    batches = zip(ours.stream("train", 4).train_batches(3), theirs.stream("train", 4).train_batches(3), strict=True)
    for pinned, plain in batches:
        assert all(tensor.is_pinned() for tensor in pinned)
        assert all((one == other).all() for one, other in zip(pinned, plain, strict=True))


def test_the_largest_batch_of_texts_that_holds_is_found(make_text_lab: MakeLab, record_property: Note) -> None:
    lab = make_text_lab(device=CudaDevice(), context=128)
    found = with_found_text_batch(lab, CudaDevice, Effort(soak_steps=10))
    record_property("batch", found.recipe.training.batch_size)
    assert found.recipe.training.batch_size >= 2
