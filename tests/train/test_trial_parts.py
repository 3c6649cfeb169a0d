"""The parts of the training loop that can be worked out by hand."""

import math

import pytest
import torch

from rigwise.records.run import Step
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.ledger import Ledger, LossIsNotFinite
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.plan import TrialPlan, learning_rate_share
from rigwise.train.step.scoring import Scores, score
from rigwise.train.step.step_clock import HostClock


def plan(steps: int, warmup_steps: int = 0) -> TrialPlan:
    return TrialPlan(
        name="fp32",
        precision="fp32",
        batch_size=2,
        image_size=32,
        steps=steps,
        learning_rate=1e-3,
        weight_decay=0.0,
        warmup_steps=warmup_steps,
        seed=0,
    )


def test_learning_rate_rises_linearly_then_follows_half_a_cosine() -> None:
    shares = [learning_rate_share(step, plan(steps=12, warmup_steps=4)) for step in range(12)]
    assert shares[:4] == [0.25, 0.5, 0.75, 1.0]
    assert shares[4] == 1.0
    assert shares[8] == pytest.approx(0.5)
    assert shares == [*shares[:4], *sorted(shares[4:], reverse=True)]


def test_warmup_never_takes_more_than_half_the_run() -> None:
    assert learning_rate_share(1, plan(steps=2, warmup_steps=100)) == 1.0


@pytest.mark.parametrize(("steps", "marks"), [(200, [50, 100, 150, 200]), (5, [2, 3, 4, 5]), (1, [1])])
def test_validation_marks_end_with_the_last_step(steps: int, marks: list[int]) -> None:
    assert sorted(plan(steps).validation_steps) == marks


def test_normalise_maps_black_and_white_by_hand() -> None:
    images = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1).expand(2, 3, 1, 1)
    normalised = Normalise([0.5, 0.25, 0.0], [0.5, 0.5, 1.0])(images)
    torch.testing.assert_close(normalised[0].flatten(), torch.tensor([-1.0, -0.5, 0.0]))
    torch.testing.assert_close(normalised[1].flatten(), torch.tensor([1.0, 1.5, 1.0]))


def test_ledger_stops_at_the_first_loss_that_is_not_finite() -> None:
    taken: list[Step] = []
    ledger = Ledger("fp32", lambda: 0.0, taken.append, lambda validation: None)
    clock = HostClock()
    for loss in (1.0, math.nan, 1.0):
        clock.end_step()
        ledger.note(torch.tensor(loss), 0.0, clock)
    with pytest.raises(LossIsNotFinite, match="nan at step 2"):
        ledger.collect(clock, wait=True)
    assert [step.step for step in taken] == [1, 2]


def test_losses_are_read_back_in_groups() -> None:
    taken: list[Step] = []
    ledger = Ledger("fp32", lambda: 0.0, taken.append, lambda validation: None)
    clock = HostClock()
    for _ in range(3):
        clock.end_step()
        ledger.note(torch.tensor(1.0), 0.0, clock)
    assert taken == []
    ledger.collect(clock, wait=True)
    assert len(taken) == 3


def test_scores_count_by_hand() -> None:
    scores = Scores(
        labels=torch.tensor([0, 1, 1]),
        probabilities=torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]),
        losses=torch.tensor([0.1, 0.2, 1.2]),
    )
    assert scores.num_correct == 2
    assert scores.confusion(2) == ((1, 0), (1, 1))
    assert scores.mean_loss == pytest.approx(0.5)


def test_scoring_keeps_the_order_of_the_batches() -> None:
    batches = [(torch.full((2, 3, 4, 4), 255, dtype=torch.uint8), torch.tensor([0, 1]))] * 2
    model = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 2))
    scores = score(model.eval(), Normalise([0.5] * 3, [0.5] * 3), batches, CpuDevice(), "fp32")
    assert scores.labels.tolist() == [0, 1, 0, 1]
    torch.testing.assert_close(scores.probabilities[0], scores.probabilities[3])
