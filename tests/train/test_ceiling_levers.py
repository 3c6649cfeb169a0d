"""The usual levers on a real loop: PyTorch's own loader, model and optimiser, on the CPU."""

from collections.abc import Callable

import pytest
import torch
from known_loops import QUICK, SleepyLoader, SleepyStep
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from rigwise.errors import BadInput
from rigwise.records.ceilings import LeverResult
from rigwise.train.ceilings import usual
from rigwise.train.ceilings.lever import Lever, other_loader, setting
from rigwise.train.ceilings.loop import Loop, num_samples, placed_on
from rigwise.train.ceilings.measure import ceilings
from rigwise.train.ceilings.pace import Sampling
from rigwise.train.ceilings.workers import rebuilt

CPU = torch.device("cpu")
Levers = dict[str, LeverResult]


def picture_loader(**settings: object) -> DataLoader[tuple[Tensor, ...]]:
    pictures = TensorDataset(torch.randn(32, 3, 8, 8), torch.arange(32) % 2)
    return DataLoader(pictures, **({"batch_size": 4, "shuffle": True} | settings))


def small_model() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))


@pytest.fixture
def loop() -> Loop:
    model = small_model()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: list[Tensor]) -> None:
        optimizer.zero_grad()
        logits = model(batch[0])
        assert logits.dtype == torch.float32
        nn.functional.cross_entropy(logits, batch[1]).backward()
        optimizer.step()

    return Loop(
        loader=picture_loader(),
        step=step,
        place=placed_on(CPU),
        count=num_samples,
        device=CPU,
        model=model,
        optimizer=optimizer,
    )


def one_step(loop: Loop) -> None:
    loop.step(loop.place(next(iter(loop.loader))))


def visible(loop: Loop) -> list[object]:
    """What levers change."""
    model, optimizer = loop.model, loop.optimizer
    assert model is not None
    assert optimizer is not None
    settings = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    strides = [parameter.stride() for parameter in model.parameters()]
    return [loop.loader, loop.place, model.__dict__.get("forward"), settings, strides]


@pytest.mark.parametrize(
    "make", [usual.channels_last_lever, usual.amp_lever, usual.fused_lever, usual.batch_lever], ids=lambda f: f.__name__
)
def test_a_lever_changes_the_loop_and_leaves_no_trace(loop: Loop, make: Callable[[Loop], Lever]) -> None:
    lever = make(loop)
    assert not lever.why_not
    assert lever.recipe
    one_step(loop)
    before = visible(loop)
    for _ in range(2):
        lever.apply(loop)
        assert visible(loop) != before
        one_step(loop)
        lever.undo(loop)
        one_step(loop)
        assert visible(loop) == before


def test_a_compiled_forward_is_made_once_and_taken_back(loop: Loop) -> None:
    lever = usual.compile_lever(loop)
    model = loop.model
    assert model is not None
    lever.apply(loop)
    compiled = model.forward
    lever.undo(loop)
    assert "forward" not in model.__dict__
    lever.apply(loop)
    assert model.forward is compiled
    lever.undo(loop)


def test_levers_that_cannot_be_tried_here_say_why(loop: Loop) -> None:
    told = {lever.name: lever.why_not for lever in usual.usual_levers(loop, usual.Seen(shares={"logging": 0.001}))}
    assert told["pinned memory"] == "the loop does not run on a GPU"
    assert "nothing is fetched ahead" in told["prefetch"]
    assert "nothing to gain" in told["logging interval"]
    assert told["workers"]
    assert told["cache"]
    bare = Loop(loader=SleepyLoader(0), step=SleepyStep(0), place=placed_on(CPU), count=num_samples, device=CPU)
    assert all(lever.why_not for lever in usual.usual_levers(bare, usual.Seen()))


def test_every_usual_lever_is_in_the_table_of_a_real_loop(loop: Loop) -> None:
    sampling = Sampling(seconds=0.05, lever_seconds=0.1, max_seconds=0.5, warmup_steps=1)
    report = ceilings(picture_loader(), loop.step, model=loop.model, optimizer=loop.optimizer, sampling=sampling)
    names = " ".join(result.name for result in report.levers)
    for name in (
        "workers",
        "pinned",
        "prefetch",
        "channels_last",
        "bf16",
        "fused",
        "compile",
        "batch",
        "logging",
        "cache",
    ):
        assert name in names
    for result in report.levers:
        assert bool(result.why_not) != (result.gain_ratio is not None)
        assert result.why_not or result.because
    assert len(report.workers) >= 2


def test_autocast_that_is_on_already_is_seen(loop: Loop) -> None:
    placed = next(iter(loop.loader))
    assert not usual.runs_under_autocast(loop, placed)
    plain = loop.step

    def mixed(batch: list[Tensor]) -> None:
        with torch.autocast("cpu", torch.bfloat16):
            loop.model(batch[0])

    loop.step = mixed
    assert usual.runs_under_autocast(loop, placed)
    loop.step = plain
    (told,) = (one for one in usual.usual_levers(loop, usual.Seen(under_autocast=True)) if "bf16" in one.name)
    assert told.why_not == "it is on already"


def test_a_kept_lever_is_the_ground_of_the_next_and_undone_in_the_end() -> None:
    step = SleepyStep(6e-3)
    levers = (setting("faster", step, "seconds", 3e-3), setting("faster still", step, "seconds", 1e-3))
    report = ceilings(SleepyLoader(2e-4), step, usual=False, levers=levers, sampling=QUICK)
    assert all(result.kept for result in report.levers)
    first, second = report.levers
    assert first.gain_ratio is not None
    assert first.gain_ratio > 1.5
    assert second.before is not None
    assert first.before is not None
    assert second.before / first.before > 1.5
    assert report.final is not None
    assert report.final.median / report.actual.median > 1.5
    assert report.recipe == ("faster", "faster still")
    assert step.seconds == 6e-3


def test_a_lever_that_fails_is_told_and_undone() -> None:
    step = SleepyStep(1e-3)

    def fail(loop: Loop) -> None:
        step.seconds = 5e-3
        raise RuntimeError("no compiler found\nlong trace")

    lever = Lever(name="compile", apply=fail, undo=lambda loop: setattr(step, "seconds", 1e-3))
    (result,) = ceilings(SleepyLoader(2e-4), step, usual=False, levers=(lever,), sampling=QUICK).levers
    assert "no compiler found" in result.why_not
    assert "long trace" not in result.why_not
    assert step.seconds == 1e-3


def test_ctrl_c_during_a_lever_leaves_the_loop_as_it_was() -> None:
    step = SleepyStep(1e-3)

    def interrupted(loop: Loop) -> None:
        step.seconds = 5e-3
        raise KeyboardInterrupt

    lever = Lever(name="any", apply=interrupted, undo=lambda loop: setattr(step, "seconds", 1e-3))
    with pytest.raises(KeyboardInterrupt):
        ceilings(SleepyLoader(2e-4), step, usual=False, levers=(lever,), sampling=QUICK)
    assert step.seconds == 1e-3


def test_levers_end_in_time_and_what_was_not_tried_is_told() -> None:
    step = SleepyStep(1e-3)
    sampling = Sampling(seconds=0.05, lever_seconds=0.1, max_seconds=0.0, warmup_steps=1)
    lever = setting("faster", step, "seconds", 0.0)
    (result,) = ceilings(SleepyLoader(2e-4), step, usual=False, levers=(lever,), sampling=sampling).levers
    assert "were over" in result.why_not


def test_a_faster_loader_is_kept_when_the_loader_is_the_bound() -> None:
    slow, step = SleepyLoader(4e-3), SleepyStep(1e-3)
    lever = other_loader("cache", SleepyLoader(5e-4), recipe="cache the decoded samples")
    report = ceilings(slow, step, usual=False, levers=(lever,), sampling=QUICK)
    assert report.recipe == ("cache the decoded samples",)


def test_a_rebuilt_loader_gives_the_same_batches() -> None:
    def batches(loader: DataLoader[tuple[Tensor, ...]]) -> list[list[float]]:
        torch.manual_seed(3)
        return [pictures.flatten(1).sum(1).tolist() for pictures, _ in loader]

    torch.manual_seed(1)
    loader = picture_loader()
    assert batches(rebuilt(loader)) == batches(loader)
    assert [len(batch) for batch in batches(rebuilt(loader, batch_size=8))] == [8, 8, 8, 8]
    assert rebuilt(loader, num_workers=2, prefetch_factor=3).prefetch_factor == 3
    assert rebuilt(rebuilt(loader, num_workers=2), num_workers=0).num_workers == 0


def test_a_lever_cannot_hide_a_loader_that_ends() -> None:
    lever = Lever(name="empty", apply=lambda loop: setattr(loop, "loader", SleepyLoader(0, batches=0)))
    with pytest.raises(BadInput, match="no batch"):
        ceilings(SleepyLoader(2e-4), SleepyStep(1e-3), usual=False, levers=(lever,), sampling=QUICK)
