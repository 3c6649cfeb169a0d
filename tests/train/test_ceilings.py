"""Ceilings, bound and parts of loops whose truth is known, because they sleep."""

import os
import random
import subprocess
import sys
import time

import pytest
import torch
from known_loops import BATCH, QUICK, AsyncDevice, SleepyLoader, SleepyStep
from torch import nn

import rigwise
from rigwise.errors import BadInput
from rigwise.records.ceilings import Bound, Ceiling, CeilingsReport, Rate
from rigwise.train.ceilings.judging import verdict
from rigwise.train.ceilings.loop import Loop, mapped
from rigwise.train.ceilings.measure import Flops, ceilings

MS = 1e-3
WITHIN = 1.5
"""Sleeps are never short, but long on a busy machine."""


def assert_about(measured: float, expected: float) -> None:
    assert expected / WITHIN < measured < expected * WITHIN


def shares(report: CeilingsReport) -> dict[str, float]:
    return {part.name: part.share_ratio for part in report.parts}


def loader_rate(report: CeilingsReport) -> float:
    rate = report.ceiling("loader")
    assert rate is not None
    return rate.median


def compute_rate(report: CeilingsReport) -> float:
    rate = report.ceiling("compute")
    assert rate is not None
    return rate.median


def test_a_slow_loader_is_the_bound() -> None:
    report = rigwise.ceilings(SleepyLoader(12 * MS), SleepyStep(3 * MS), usual=False, sampling=QUICK)
    assert report.bound is Bound.LOADER
    assert_about(loader_rate(report), BATCH / (12 * MS))
    assert_about(compute_rate(report), BATCH / (3 * MS))
    assert_about(report.actual.median, BATCH / (15 * MS))
    assert_about(shares(report)["data_wait"], 12 / 15)
    assert "the loader" in report.verdict


def test_a_slow_step_is_the_bound() -> None:
    report = ceilings(SleepyLoader(3 * MS), SleepyStep(12 * MS), usual=False, sampling=QUICK)
    assert report.bound is Bound.COMPUTE
    assert_about(shares(report)["device_compute"], 12 / 15)


def test_stages_as_fast_as_each_other_are_balanced() -> None:
    report = ceilings(SleepyLoader(8 * MS), SleepyStep(8 * MS), usual=False, sampling=QUICK)
    assert report.bound in {Bound.BALANCED, Bound.LOADER, Bound.COMPUTE}
    slow, fast = sorted((loader_rate(report), compute_rate(report)))
    assert (report.bound is Bound.BALANCED) or fast / slow > 1.05
    assert_about(report.actual.median, BATCH / (16 * MS))


def test_named_parts_and_the_optimiser_get_their_own_time() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch[0]), batch[1]).backward()
        optimizer.step()
        with rigwise.part("logging"):
            time.sleep(6 * MS)
        with rigwise.part("checkpoint"):
            time.sleep(3 * MS)

    report = ceilings(SleepyLoader(3 * MS), step, model=model, optimizer=optimizer, usual=False, sampling=QUICK)
    found = shares(report)
    assert found["logging"] > found["checkpoint"] > found["optimiser"] > 0
    assert_about(found["logging"] / found["checkpoint"], 2)
    assert sum(found.values()) == pytest.approx(1)


def test_parts_inside_parts_are_counted_once() -> None:
    def step(batch: object) -> None:
        with rigwise.part("logging"):
            time.sleep(4 * MS)
            with rigwise.part("checkpoint"):
                time.sleep(4 * MS)

    found = shares(ceilings(SleepyLoader(1 * MS), step, usual=False, sampling=QUICK))
    assert_about(found["logging"], found["checkpoint"])
    assert found["logging"] + found["checkpoint"] <= 1


def test_work_that_hides_behind_the_device_costs_nothing() -> None:
    device = AsyncDevice()

    def step(batch: object) -> None:
        device.submit(12 * MS)

    report = ceilings(SleepyLoader(4 * MS), step, usual=False, sampling=QUICK, timeline=device)
    assert report.bound is Bound.COMPUTE
    assert_about(report.actual.median, BATCH / (12 * MS))
    assert shares(report).get("data_wait", 0) < 0.2
    assert shares(report)["device_compute"] > 0.7


def test_a_host_that_submits_too_slowly_is_named() -> None:
    device = AsyncDevice()

    def step(batch: object) -> None:
        for _ in range(4):
            time.sleep(2 * MS)
            device.submit(0.5 * MS)

    report = ceilings(SleepyLoader(0.2 * MS), step, usual=False, sampling=QUICK, timeline=device)
    assert report.bound is Bound.HOST_LAUNCH
    assert shares(report)["host_launch"] > shares(report)["device_compute"] > 0


def test_a_copy_that_takes_longest_is_the_bound() -> None:
    device = AsyncDevice()

    def place(batch: object) -> object:
        device.submit(10 * MS)
        return batch

    report = ceilings(
        SleepyLoader(1 * MS), lambda _: device.submit(3 * MS), place=place, usual=False, sampling=QUICK, timeline=device
    )
    assert report.bound is Bound.TRANSFER
    assert_about(shares(report)["copy"], 10 / 13)


def test_run_ahead_lost_by_waiting_in_the_step_is_told() -> None:
    device = AsyncDevice()

    def step(batch: object) -> None:
        time.sleep(4 * MS)
        device.submit(8 * MS)
        with rigwise.part("synchronisation"):
            device.synchronize()

    report = ceilings(SleepyLoader(0.2 * MS), step, usual=False, sampling=QUICK, timeline=device)
    assert report.bound is Bound.COMPUTE
    assert_about(report.actual.median, BATCH / (12 * MS))


def test_on_the_cpu_nothing_is_copied_and_it_says_so() -> None:
    report = ceilings(SleepyLoader(1 * MS), SleepyStep(1 * MS), usual=False, sampling=QUICK, device="cpu")
    (transfer,) = (one for one in report.ceilings if one.name == "transfer")
    assert transfer.rate is None
    assert transfer.why_not


def test_mfu_is_reckoned_from_the_actual_rate() -> None:
    flops = Flops(per_sample=1e9, peak_per_second=1e9 * BATCH / (4 * MS))
    report = ceilings(SleepyLoader(1 * MS), SleepyStep(7 * MS), usual=False, sampling=QUICK, flops=flops)
    assert report.mfu_ratio is not None
    assert_about(report.mfu_ratio, 0.5)


def test_a_training_afterwards_is_bit_equal() -> None:
    def trained(*, measured_first: bool) -> torch.Tensor:
        torch.manual_seed(0)
        random.seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(model.parameters())
        dataset = torch.utils.data.TensorDataset(torch.randn(32, 3), torch.arange(32) % 2)
        loader = torch.utils.data.DataLoader(dataset, batch_size=4, shuffle=True)

        def step(batch: list[torch.Tensor]) -> None:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch[0]), batch[1]).backward()
            optimizer.step()

        if measured_first:
            quick = QUICK.__class__(seconds=0.02, warmup_steps=1)
            ceilings(loader, step, model=model, optimizer=optimizer, usual=False, sampling=quick)
        for batch in loader:
            step(batch)
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    assert torch.equal(trained(measured_first=False), trained(measured_first=True))


def test_an_iterator_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(BadInput, match="only once"):
        ceilings(iter(SleepyLoader(0)), SleepyStep(0), usual=False)


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="lever"):
        ceilings(SleepyLoader(0), SleepyStep(0), lever=())  # type: ignore[call-arg]


def test_an_empty_loader_is_refused() -> None:
    with pytest.raises(BadInput, match="no batch"):
        ceilings(SleepyLoader(0, batches=0), SleepyStep(0), usual=False)


def test_a_batch_without_a_tensor_needs_a_count() -> None:
    class Texts(SleepyLoader):
        def __iter__(self) -> object:
            yield from (["a", "b"] for _ in range(100))

    with pytest.raises(BadInput, match="count"):
        ceilings(Texts(0), SleepyStep(0), usual=False)
    report = ceilings(Texts(0), SleepyStep(1 * MS), count=len, usual=False, sampling=QUICK)
    assert report.actual.samples_per_step == 2


def test_a_short_epoch_goes_on_into_the_next() -> None:
    report = ceilings(SleepyLoader(1 * MS, batches=3), SleepyStep(1 * MS), usual=False, sampling=QUICK)
    assert report.actual.num_blocks * report.actual.steps_per_block > 3


def test_batches_keep_their_make() -> None:
    batch = {"x": torch.ones(2), "more": (torch.ones(3), ["label"])}
    doubled = mapped(batch, lambda tensor: tensor * 2)
    assert doubled["x"].tolist() == [2, 2]
    assert doubled["more"][0].tolist() == [2, 2, 2]
    assert doubled["more"][1] == ["label"]


def test_the_library_is_there_without_torch_being_imported() -> None:
    code = "import sys, rigwise; print('torch' in sys.modules, 'ceilings' in rigwise.LIBRARY)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == ["False", "True"]
    assert rigwise.Loop is Loop
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = rigwise.no_such_thing


def test_a_loop_at_its_ceiling_is_not_said_to_have_an_upper_limit_below_it() -> None:
    def rate(median: float) -> Rate:
        return Rate(
            median=median,
            low=median * 0.9,
            high=median * 1.1,
            confidence_ratio=0.95,
            num_blocks=9,
            steps_per_block=4,
            samples_per_step=8,
        )

    found = [Ceiling(name="loader", rate=rate(900)), Ceiling(name="compute", rate=rate(22.0))]
    assert verdict(Bound.COMPUTE, found, rate(23.5), []).startswith(
        "bound by computing (23.5 samples/s, all it can do)"
    )
    assert verdict(Bound.COMPUTE, found, rate(20), []).startswith("bound by computing (20.0 of at most 22.0 samples/s)")
