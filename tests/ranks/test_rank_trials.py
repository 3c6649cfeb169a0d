"""Several ranks train as one process does: the same batches, the same loss curve, the same pictures scored once."""

from collections.abc import Callable

import msgspec
import pytest

from rigwise.train.full_trial import Trained, run_full_trial
from rigwise.train.picture_lab import PictureLab
from rigwise.train.ranks.setup import RanksSetup

TOLERANCE = 1e-3
"""Relative, of each loss: sums are taken in another order, and six steps at a high learning rate carry that on."""
BATCH_SIZE = 9
"""Odd, so that two ranks have unequal rows."""


def trained(lab: PictureLab) -> Trained:
    rows, left = run_full_trial(lab, "cpu fp32", "fp32", BATCH_SIZE)
    assert left is not None, rows
    return left


def test_two_ranks_have_the_loss_curve_and_the_scores_of_one_process(make_lab: Callable[..., PictureLab]) -> None:
    lab = make_lab(batch_size=BATCH_SIZE)
    one = trained(lab)
    two = trained(msgspec.structs.replace(make_lab(batch_size=BATCH_SIZE), ranks=RanksSetup(num_ranks=2, backend="gloo")))
    assert [step.loss for step in two.steps] == pytest.approx([step.loss for step in one.steps], rel=TOLERANCE)
    assert two.steps[0].loss == pytest.approx(one.steps[0].loss, rel=1e-5)
    assert (two.result.val_correct, two.result.val_total) == (one.result.val_correct, one.result.val_total)
    assert two.review.num_answers == one.review.num_answers
    assert two.result.num_ranks == 2
    running = "bn1.running_var"
    assert two.weights[running].tolist() == pytest.approx(one.weights[running].tolist(), rel=1e-2)
