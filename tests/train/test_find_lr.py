"""The learning rate finder: what it suggests, where it refuses, and that it leaves no trace."""

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import rigwise
from rigwise.errors import BadInput
from rigwise.records.learning_rate import LearningRateSearch, RatePoint
from rigwise.telemetry.reading import load_run
from rigwise.train.experiment import run_experiment
from rigwise.train.knobs.curve import longest_fall, smoothed, steepest_fall
from rigwise.train.knobs.find_lr import find_lr, searched
from rigwise.train.knobs.for_trials import with_found_lr
from rigwise.train.picture_lab import PictureLab

MakeLab = Callable[..., PictureLab]
RATES = [10 ** (-7 + 8 * number / 99) for number in range(100)]


def swept(losses: list[float]) -> LearningRateSearch:
    return searched(zip(RATES, losses, strict=False), RATES[-1])


def falling_then_rising(low_at: float = 1e-2, noise: float = 0.0) -> list[float]:
    """A loss that falls over three decades to its lowest at `low_at`, then explodes."""
    chance = random.Random(1)
    losses = []
    for rate in RATES:
        decades = np.log10(rate / low_at)
        losses.append(float(2.0 - 1.5 / (1 + np.exp(-3 * (decades + 1))) + np.exp(4 * (decades - 1))))
    return [loss + chance.gauss(0, noise) for loss in losses]


class Loop:
    """Somebody's own loop: dropout, BatchNorm, momentum, a shuffled loader."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        truth = torch.randint(0, 3, (96,))
        pictures = torch.randn(96, 12) + truth[:, None]
        self.model = nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
        self.model.register_buffer("seen", torch.zeros(1), persistent=False)
        self.optimizer = torch.optim.SGD(
            [
                {"params": self.model[0].parameters(), "lr": 0.01},
                {"params": self.model[4].parameters(), "lr": 0.1},
            ],
            momentum=0.9,
        )
        generator = torch.Generator().manual_seed(2)
        self.loader = DataLoader(TensorDataset(pictures, truth), batch_size=16, shuffle=True, generator=generator)

    def step(self, batch: Any) -> Tensor:
        inputs, truth = batch
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(inputs), truth)
        loss.backward()
        self.optimizer.step()
        self.model.seen += 1
        return loss

    def trained(self, steps: int = 8) -> list[float]:
        losses: list[float] = []
        while len(losses) < steps:
            losses += [self.step(batch).item() for batch in self.loader]
        return losses[:steps]

    def found(self, **options: Any) -> LearningRateSearch:
        return find_lr(self.loader, self.step, model=self.model, optimizer=self.optimizer, **options)


# What it suggests


def test_the_suggestion_lies_on_the_fall_and_below_its_end() -> None:
    found = swept(falling_then_rising(low_at=1e-2))
    assert found.suggestion is not None
    assert found.steepest is not None
    assert 1e-5 < found.suggestion < 1e-2
    assert 1e-4 < found.steepest < 1e-2
    assert "diverged" in found.ended
    assert len(found.points) < 100


def test_noise_does_not_move_it_far() -> None:
    calm, noisy = (swept(falling_then_rising(noise=noise)).suggestion for noise in (0.0, 0.1))
    assert calm is not None
    assert noisy is not None
    assert 0.1 < calm / noisy < 10


def test_rules_by_hand() -> None:
    points = swept([*[5.0] * 10, *[5 - number * 0.1 for number in range(30)], *[2.0] * 60]).points
    line = [point for point in points if 10 <= points.index(point) < 40]
    assert longest_fall(line) == line[len(line) // 2 - 1 + len(line) % 2].learning_rate
    losses = [3.0, 2.9, 2.0, 1.95]
    bent = [
        RatePoint(learning_rate=rate, loss=loss, smoothed_loss=loss) for rate, loss in zip(RATES, losses, strict=False)
    ]
    assert steepest_fall(bent) == bent[1].learning_rate


def test_a_constant_loss_stays_itself_when_smoothed() -> None:
    assert smoothed([3.0] * 20) == pytest.approx([3.0] * 20)


def test_a_real_loop_learns_at_the_rate_it_suggests() -> None:
    found = Loop().found()
    assert found.suggestion is not None
    loop = Loop()
    for group, share in zip(loop.optimizer.param_groups, (0.1, 1.0), strict=True):
        group["lr"] = found.suggestion * share
    losses = loop.trained(60)
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:3])


# Where it refuses


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_loss_that_never_falls_suggests_nothing_and_says_so(noise: float) -> None:
    chance = random.Random(3)
    found = swept([2.0 + chance.gauss(0, noise) for _ in RATES])
    assert found.suggestion is None
    assert found.steepest is None
    assert "the loss never fell" in found.why_not


@pytest.mark.parametrize("seed", range(12))
def test_noise_alone_is_no_fall(seed: int) -> None:
    chance = random.Random(seed)
    assert swept([2.0 + chance.gauss(0, 0.2) for _ in RATES]).suggestion is None


def test_a_loss_that_only_rises_suggests_nothing() -> None:
    found = swept([2.0 + 0.01 * number for number in range(100)])
    assert "never fell" in found.why_not


def test_diverging_at_once_suggests_nothing() -> None:
    found = swept([1.0, 2.0, 300.0, 1e9])
    assert found.suggestion is None
    assert "diverged after" in found.why_not


def test_a_loss_that_is_not_finite_ends_the_sweep() -> None:
    found = swept([*falling_then_rising()[:60], float("nan"), 0.0])
    assert len(found.points) == 60
    assert "not finite" in found.ended
    assert found.suggestion is not None


@pytest.mark.parametrize("options", [{"smallest": 1.0, "largest": 0.1}, {"smallest": 0.0}, {"num_steps": 1}], ids=str)
def test_a_range_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="no learning rates to try"):
        Loop().found(**options)


def test_a_step_without_a_loss_is_refused_and_leaves_no_trace() -> None:
    loop = Loop()
    before = copy.deepcopy(loop.model.state_dict())
    with pytest.raises(BadInput, match="the step gives no loss"):
        find_lr(loop.loader, lambda batch: [loop.step(batch)], model=loop.model, optimizer=loop.optimizer)  # type: ignore[arg-type, return-value]
    assert all(torch.equal(value, before[name]) for name, value in loop.model.state_dict().items())


def test_an_iterator_is_refused() -> None:
    loop = Loop()
    with pytest.raises(BadInput, match="only once"):
        find_lr(iter(loop.loader), loop.step, model=loop.model, optimizer=loop.optimizer)


# No trace (case B98)


def test_b98_training_is_bit_equal_with_and_without_the_search() -> None:
    plain = Loop()
    expected = plain.trained()
    searched_first = Loop()  # draws from the same random numbers anew
    assert searched_first.found().points
    assert searched_first.trained() == expected
    for name, value in plain.model.state_dict().items():
        assert torch.equal(value, searched_first.model.state_dict()[name])


def test_b98_in_the_midst_of_a_training_everything_is_put_back() -> None:
    loop = Loop()
    loop.trained(4)
    rates = [group["lr"] for group in loop.optimizer.param_groups]
    gradients = [parameter.grad.clone() for parameter in loop.model.parameters()]
    momentum = copy.deepcopy(loop.optimizer.state_dict()["state"])
    chance = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    loop.model.eval()
    loop.found()
    assert [group["lr"] for group in loop.optimizer.param_groups] == rates
    assert all(torch.equal(a, b.grad) for a, b in zip(gradients, loop.model.parameters(), strict=True))
    after = loop.optimizer.state_dict()["state"]
    assert all(torch.equal(momentum[key]["momentum_buffer"], after[key]["momentum_buffer"]) for key in momentum)
    assert torch.equal(torch.get_rng_state(), chance[0])
    assert random.getstate() == chance[1]
    assert (np.random.get_state()[1] == chance[2]).all()
    assert loop.model.seen.item() == 6, "a buffer that is not in the state dict"
    assert not loop.model.training


def test_a_loader_with_a_position_is_put_back() -> None:
    class Positioned:
        position = 3

        def __iter__(self) -> Any:
            for _ in range(4):
                self.position += 1
                yield torch.randn(16, 12), torch.randint(0, 3, (16,))

        def state_dict(self) -> dict[str, int]:
            return {"position": self.position}

        def load_state_dict(self, state: dict[str, int]) -> None:
            self.position = state["position"]

    loop, loader = Loop(), Positioned()
    find_lr(loader, loop.step, model=loop.model, optimizer=loop.optimizer, num_steps=20)
    assert loader.position == 3


def test_the_groups_keep_their_proportions_while_swept() -> None:
    loop, seen = Loop(), []
    loop.optimizer.register_step_pre_hook(
        lambda *_: seen.append([group["lr"] for group in loop.optimizer.param_groups])
    )
    loop.found(num_steps=20, smallest=1e-4, largest=1e-1)
    assert all(low == pytest.approx(high / 10) for low, high in seen)
    assert [high for _, high in seen][:1] == pytest.approx([1e-4])


# In the experiment


def test_b98_the_experiment_trains_as_without_the_search_but_for_the_rate(make_lab: MakeLab) -> None:
    plain, tuned = make_lab(steps=4), with_found_lr(make_lab(steps=4))
    tuned.writer.flush()
    found = load_run(tuned.folder.path).lr_search
    assert found is not None
    assert found.suggestion is not None
    rate = tuned.recipe.training.learning_rate
    assert rate == pytest.approx(found.suggestion, rel=0.06)
    at_that_rate = make_lab(steps=4)
    at_that_rate = type(at_that_rate)(
        **{name: getattr(at_that_rate, name) for name in at_that_rate.__struct_fields__} | {"recipe": tuned.recipe}
    )
    losses = [[step.loss for step in run_experiment(lab).steps] for lab in (tuned, at_that_rate, plain)]
    assert losses[0] == losses[1]
    assert losses[0][0] == losses[2][0], "the first loss does not depend on the rate"


def test_it_is_there_for_peoples_own_loops() -> None:
    assert rigwise.find_lr is find_lr
