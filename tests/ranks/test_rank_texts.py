"""Several ranks train on texts as one process does, also where their rows have unequal numbers of tokens."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from text_laboratory import write_records

from rigwise.train.full_trial import Trained, run_full_trial
from rigwise.train.ranks.setup import RanksSetup
from rigwise.train.text_lab import TextLab

TOLERANCE = 1e-4
"""Relative, of each loss: sums are taken in another order."""
BATCH_SIZE = 5
"""Odd, so that two ranks have unequal rows."""


def uneven(path: Path) -> Path:
    """Completions of 1 to 24 characters: a mean over rows is not one over tokens."""
    records = [{"prompt": f"{number}:", "completion": "abcdefgh"[: 1 + number % 8] * 3} for number in range(60)]
    return write_records(path, records)


def trained(lab: TextLab) -> Trained:
    rows, left = run_full_trial(lab, "cpu fp32", "fp32", BATCH_SIZE)
    assert left is not None, rows
    return left


def test_two_ranks_have_the_loss_curve_of_one_process(make_text_lab: Callable[..., TextLab], tmp_path: Path) -> None:
    root = uneven(tmp_path / "uneven.jsonl")
    alone = make_text_lab(root=root, batch_size=BATCH_SIZE)
    together = make_text_lab(root=root, batch_size=BATCH_SIZE)
    together = msgspec.structs.replace(together, ranks=RanksSetup(num_ranks=2, backend="gloo"))
    one, two = trained(alone), trained(together)
    assert [step.loss for step in two.steps] == pytest.approx([step.loss for step in one.steps], rel=TOLERANCE)
    assert two.result.num_ranks == 2
    assert two.result.val_total == one.result.val_total
    assert two.result.val_loss == pytest.approx(one.result.val_loss, rel=TOLERANCE)
