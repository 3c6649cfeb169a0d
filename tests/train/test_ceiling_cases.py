"""Real reports of wrong advice about speed, each by its id, with the outcome that would have been right."""

import os
import time

import pytest
from known_loops import BATCH, QUICK, AsyncDevice, SleepyLoader, SleepyStep

from rigwise.records.ceilings import Bound, Ceiling, LeverResult, Part, Rate, WorkerRate
from rigwise.train.ceilings.comparing import Sides, judge
from rigwise.train.ceilings.gap import explained
from rigwise.train.ceilings.judging import contradictions
from rigwise.train.ceilings.launch import LaunchCost
from rigwise.train.ceilings.lever import Lever, setting
from rigwise.train.ceilings.loop import Loop, num_samples
from rigwise.train.ceilings.measure import ceilings
from rigwise.train.ceilings.pace import Block, rate_of
from rigwise.train.ceilings.usual import worker_lever
from rigwise.train.ceilings.workers import candidates, knee, sweep
from rigwise.train.machine import usable_cores

MS = 1e-3


def loop_of(loader: SleepyLoader) -> Loop:
    import torch

    return Loop(loader=loader, step=SleepyStep(0), place=lambda x: x, count=num_samples, device=torch.device("cpu"))


def rate(median: float, spread: float = 0.01) -> Rate:
    return Rate(
        median=median,
        low=median * (1 - spread),
        high=median * (1 + spread),
        confidence_ratio=0.96,
        num_blocks=9,
        steps_per_block=4,
        samples_per_step=8,
    )


def sides(before: list[float], after: list[float], setup_seconds: float = 0.0) -> Sides:
    """Blocks of ten steps of eight samples; seconds per step."""

    def blocks(steps: list[float]) -> tuple[Block, ...]:
        return tuple(Block(samples=80, steps=10, seconds=10 * seconds) for seconds in steps)

    return Sides(before=blocks(before), after=blocks(after), setup_seconds=setup_seconds)


def judged(before: list[float], after: list[float], setup: float = 0.0, planned: int | None = None) -> LeverResult:
    return judge(Lever(name="lever"), sides(before, after, setup), planned)


def test_b73_one_core_is_never_told_to_take_more_workers() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert usable_cores() == 1
        assert candidates(now=1, cores=usable_cores()) == [0, 1]
    finally:
        os.sched_setaffinity(0, allowed)
    rates = [WorkerRate(num_workers=count, rate=rate(100.0 * (count + 1))) for count in (0, 1, 2, 4)]
    assert knee(rates, cores=1) == 1
    told = worker_lever(loop_of(SleepyLoader(0, num_threads=1)), 1, lambda count: SleepyLoader(0, num_threads=count))
    assert told.why_not


def test_b74_more_workers_stop_helping_and_the_knee_is_found() -> None:
    def loader(count: int) -> SleepyLoader:
        return SleepyLoader(12 * MS, num_threads=count, helping=2)

    rates = sweep(loop_of(loader(1)), loader, cores=8, sampling=QUICK)
    assert [one.num_workers for one in rates] == [0, 1, 2, 4, 8]
    assert knee(rates, cores=8) == 2
    by_count = {one.num_workers: one.rate for one in rates}
    assert by_count[2].median / by_count[1].median > 1.5
    assert {by_count[count].samples_per_step for count in by_count} == {BATCH}


def test_a_wide_interval_does_not_hide_a_faster_number_of_workers() -> None:
    rates = [
        WorkerRate(num_workers=n, rate=rate(r, spread=0.5)) for n, r in ((0, 463.0), (1, 451.0), (2, 882.0), (4, 901.0))
    ]
    assert knee(rates, cores=4) == 2


def test_b88_an_asynchronous_device_is_waited_for() -> None:
    device = AsyncDevice()

    def step(batch: object) -> None:
        device.submit(10 * MS)

    began = time.perf_counter()
    for _ in range(50):
        step(None)
    naive = 50 * BATCH / (time.perf_counter() - began)
    device.synchronize()
    report = ceilings(SleepyLoader(0.1 * MS), step, usual=False, sampling=QUICK, timeline=device)
    true = BATCH / (10 * MS)
    assert naive > 30 * true
    compute = report.ceiling("compute")
    assert compute is not None
    for measured in (compute.median, report.actual.median):
        assert true / 1.5 < measured < true * 1.5
    assert any("batch" in condition for condition in report.conditions)
    assert any("threads" in condition for condition in report.conditions)


def test_b91_parts_add_up_to_the_wall_and_the_rest_is_told() -> None:
    report = ceilings(SleepyLoader(4 * MS), SleepyStep(4 * MS), usual=False, sampling=QUICK)
    assert sum(part.seconds for part in report.parts) == pytest.approx(report.wall_seconds)
    assert report.parts[-1].name == "unexplained"
    assert abs(report.parts[-1].share_ratio) < 0.1


def test_b91_what_nobody_explains_is_not_hidden_in_a_part() -> None:
    launch = LaunchCost(host_seconds=2 * MS, step_part_seconds=2 * MS, waits=False, busy_seconds=6 * MS)
    parts = {part.name: part for part in explained({"step": 8 * MS, "data_wait": 1 * MS}, 10 * MS, launch)}
    assert parts["device_compute"].seconds == pytest.approx(6 * MS)
    assert parts["data_wait"].seconds == pytest.approx(1 * MS)
    assert parts["unexplained"].seconds == pytest.approx(3 * MS)
    assert parts["unexplained"].share_ratio == pytest.approx(0.3)


def test_b91_waiting_in_the_step_costs_the_run_ahead() -> None:
    launch = LaunchCost(host_seconds=4 * MS, step_part_seconds=4 * MS, waits=True, busy_seconds=6 * MS)
    parts = {part.name: part.seconds for part in explained({"step": 10 * MS}, 10 * MS, launch)}
    assert parts["device_compute"] == pytest.approx(6 * MS)
    assert parts["synchronisation"] == pytest.approx(4 * MS)
    assert parts["unexplained"] == pytest.approx(0)


def test_parts_that_exceed_the_wall_are_refused() -> None:
    parts = explained({"step": 9 * MS, "data_wait": 4 * MS}, 10 * MS, None)
    assert any("add up" in words for words in contradictions((), rate(100), parts, 10 * MS, None))
    fitting = explained({"step": 6 * MS, "data_wait": 4 * MS}, 10 * MS, None)
    assert not list(contradictions((), rate(100), fitting, 10 * MS, None))


@pytest.mark.parametrize(("actual", "refused"), [(140.0, True), (102.0, False), (90.0, False)])
def test_a_loop_faster_than_its_own_stage_is_refused(actual: float, refused: bool) -> None:
    stages = (Ceiling(name="loader", rate=rate(100)), Ceiling(name="compute", rate=rate(500)))
    found = list(contradictions(stages, rate(actual), (), 10 * MS, None))
    assert bool(found) is refused


def test_b85_an_mfu_over_the_peak_is_refused() -> None:
    from rigwise.train.ceilings.measure import Flops

    flops = Flops(per_sample=1e9, peak_per_second=1e9)
    report = ceilings(SleepyLoader(1 * MS), SleepyStep(2 * MS), usual=False, sampling=QUICK, flops=flops)
    assert report.bound is Bound.CANNOT_TELL
    assert report.mfu_ratio is None
    assert any("MFU" in words for words in report.refused)
    assert report.ceiling("loader") is not None


def test_b102_a_lever_that_slows_is_undone_and_told() -> None:
    step = SleepyStep(1 * MS)
    lever = setting("channels_last on grouped convolutions", step, "seconds", 40 * MS)
    quick = QUICK.__class__(seconds=0.05, lever_seconds=0.1, warmup_steps=1)
    report = ceilings(SleepyLoader(0.5 * MS), step, usual=False, levers=(lever,), sampling=quick)
    (result,) = report.levers
    assert not result.kept
    assert result.gain_ratio is not None
    assert result.gain_ratio < 0.1
    assert "slower" in result.because
    assert step.seconds == 1 * MS
    assert report.recipe == ()


def test_b103_compile_time_is_charged() -> None:
    before, after = [0.100] * 6, [0.080] * 6
    late = judged(before, after, setup=60.0, planned=200)
    assert late.break_even_steps == 3000
    assert not late.kept
    assert "3,000" in late.because
    assert judged(before, after, setup=60.0, planned=10_000).kept


def test_b103_a_compiled_model_that_is_slower_is_not_kept() -> None:
    result = judged([0.080] * 6, [0.100, 0.101, 0.099, 0.100, 0.102, 0.100], setup=60.0)
    assert not result.kept
    assert result.break_even_steps is None


def test_b103_set_up_is_measured_not_guessed() -> None:
    step = SleepyStep(4 * MS)
    slow_once = [150 * MS]

    def compile_it(loop: object) -> None:
        time.sleep(slow_once.pop() if slow_once else 0)
        step.seconds = 1 * MS

    def undo(loop: object) -> None:
        step.seconds = 4 * MS

    lever = Lever(name="compile", apply=compile_it, undo=undo)
    (result,) = ceilings(
        SleepyLoader(0.2 * MS), step, usual=False, levers=(lever,), sampling=QUICK, planned_steps=5
    ).levers
    assert 0.1 < result.setup_seconds < 0.3
    assert result.break_even_steps is not None
    assert result.break_even_steps > 5
    assert not result.kept


@pytest.mark.parametrize(
    "after", [[0.100] * 6, [0.09, 0.11, 0.10, 0.09, 0.11, 0.10], [0.099] * 6, [0.101, 0.09, 0.09, 0.09, 0.09, 0.09]]
)
def test_a_gain_within_the_noise_is_not_kept(after: list[float]) -> None:
    assert not judged([0.100] * 6, after).kept


def test_rates_of_bursty_workers_are_taken_over_blocks() -> None:
    blocks = [Block(samples=32, steps=4, seconds=0.4)] * 9
    assert rate_of(blocks).median == pytest.approx(80)
    assert rate_of(blocks).confidence_ratio >= 0.95


def test_a_part_is_a_share_of_the_wall() -> None:
    (part, rest) = explained({"step": 5 * MS}, 10 * MS, None)
    assert part == Part(name="device_compute", seconds=5 * MS, share_ratio=0.5)
    assert rest.seconds == pytest.approx(5 * MS)
