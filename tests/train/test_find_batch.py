"""`find_batch` on the scenarios of the facts page and the reports behind it; test names begin with the case's id.

Scripted trainings raise torch's own exception at a limit; real ones take steps on a simulated GPU's memory.
"""

import random
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import batch_trainings as trainings
import numpy as np
import pytest
import torch

import rigwise
from rigwise.errors import BadInput
from rigwise.records.batch import BatchSearch
from rigwise.records.gpu import GpuProcess
from rigwise.train.batch.search import Effort
from rigwise.train.batch.verdict import NoBatchHolds
from rigwise.units import GIB, MIB

SHORT = Effort(soak_steps=16, silence_seconds=30.0)
"""Long enough for growth to show: three steps that settle, and twelve."""


def find(build: Callable[[int], Any], most: int = 1000, **options: Any) -> BatchSearch:
    found = rigwise.find_batch(build, most=most, **options)
    assert isinstance(found, BatchSearch)
    assert found.proof.steps >= 16
    return found


def find_scripted(most: int = 1000, start: int | None = None, **fields: int | str) -> BatchSearch:
    return find(trainings.scripted(**fields), most, start=start)


def find_within(limit_bytes: int, build: Callable[[int], Any] = trainings.real, most: int = 1000) -> BatchSearch:
    return find(build, most, make_device=partial(trainings.simulated, limit_bytes), effort=SHORT)


@cache
def ordinary() -> BatchSearch:
    """A real training in 16 MiB, for the tests that ask how it was found."""
    return find_within(16 * MIB)


def refused(build: Callable[[int], Any], most: int = 64, **options: Any) -> NoBatchHolds:
    with pytest.raises(NoBatchHolds) as caught:
        rigwise.find_batch(build, most=most, **options)
    return caught.value


def sizes(found: BatchSearch | NoBatchHolds) -> list[int]:
    return [probe.batch_size for probe in found.probes]


def test_s1_the_size_found_ran_a_whole_soak_below_the_limit() -> None:
    found = find_scripted(train_limit=100, start=64)
    assert found.batch_size == 96
    assert found.proof.steps == 200
    assert sizes(found) == [64, 128, 96, 112, 104, 96]


def test_s2_b08_what_fits_once_is_not_stable() -> None:
    found = find_scripted(most=128, start=128, late_limit=16, late_step=11)
    assert found.batch_size == 16
    assert "batch 128 fits once and is not stable: 11 steps fitted, then step 12 did not" in found.notes[-1]


def test_s3_b09_b40_b43_validation_is_part_of_the_probe() -> None:
    found = find_scripted(start=64, train_limit=100, val_limit=100, val_times=4)
    assert found.batch_size == 24
    assert any("a smaller batch for the validation" in note for note in found.notes)


def test_s4_b31_nothing_fits_is_an_error_and_no_number() -> None:
    error = refused(trainings.scripted(train_limit=0), start=16)
    assert error.what == "batch 1 does not fit"
    assert sizes(error) == [16, 8, 4, 2, 1]


def test_s5_a1_a_limit_that_is_no_power_of_two_is_approached() -> None:
    assert find_scripted(train_limit=92, start=128).batch_size in range(82, 93)


def test_s6_the_largest_allowed_is_run_before_it_is_returned() -> None:
    found = find_scripted(most=64, start=64, train_limit=100)
    assert found.batch_size == 64
    assert [(probe.batch_size, probe.steps) for probe in found.probes] == [(64, 5), (64, 200)]


def test_a3_b21_the_same_step_whatever_the_batch_ends_the_search_after_two_soaks() -> None:
    error = refused(trainings.scripted(late_limit=0, late_step=149), start=64)
    assert error.cause == "leak"
    assert error.what == "memory runs out at step 150 whatever the batch"
    assert [(probe.batch_size, probe.steps) for probe in error.probes] == [(64, 5), (64, 149), (1, 149)]


def test_a4_b22_a_late_failure_of_large_batches_only_is_no_leak() -> None:
    found = find_scripted(most=128, start=128, late_limit=32, late_step=149)
    assert found.batch_size == 32
    late = [probe for probe in found.probes if probe.cause == "late_peak"]
    assert {probe.steps for probe in late} == {149}


def test_a4_b28_the_worst_batch_first_finds_it_in_the_first_step() -> None:
    lengths = tuple([1] * 2000 + [64])
    found = find_within(16 * MIB, partial(trainings.worst_lengths, lengths, True), most=64)
    assert found.batch_size == 3
    assert all(probe.steps == 0 for probe in found.probes if probe.ended == "out_of_memory")


def test_a_sample_met_late_is_waited_for_at_smaller_sizes() -> None:
    """Batch 64 meets the long text in step 10; a batch of 16 meets it after the 16 steps of its soak."""
    lengths = tuple([1] * 600 + [64] + [1] * 600)
    found = find_within(64 * MIB, partial(trainings.worst_lengths, lengths, False), most=64)
    assert found.batch_size in range(10, 14)
    assert found.proof.steps * found.batch_size > 600


def test_b01_b18_each_size_starts_in_a_fresh_process() -> None:
    """A probe that leaves memory behind takes none from the next one."""
    found = find_within(16 * MIB, partial(trainings.of_kind, trainings.KeepsOnce), most=16)
    again = [probe for probe in found.probes if probe.batch_size == found.batch_size]
    assert len({probe.free_at_start_bytes for probe in found.probes}) == 1
    assert len(again) == 2
    assert again[0].need_bytes == again[1].need_bytes


def test_b10_the_headroom_is_a_tenth_of_what_was_free() -> None:
    need = ordinary().proof.need_bytes
    assert need is not None
    assert 0.75 * 16 * MIB < need <= 0.9 * 16 * MIB
    assert any(probe.ended == "tight" for probe in ordinary().probes)


def test_b12_every_probe_takes_training_steps() -> None:
    assert all(probe.steps >= 5 for probe in ordinary().probes if probe.held)


def test_b17_the_chosen_size_comes_with_its_evidence() -> None:
    found = ordinary()
    assert f"batch {found.batch_size} takes" in found.notes[0]
    assert "MiB predicted without running: parameters 0.0361 MiB, gradients" in found.notes[1]
    assert {peak.phase for peak in found.proof.peaks} == {"build", "train", "validation", "checkpoint", "soak"}


def test_b27_never_more_than_twice_what_ran() -> None:
    found = find_scripted(train_limit=300)
    ran = 0
    for probe in found.probes:
        assert probe.batch_size <= max(1, 2 * ran)
        ran = max(ran, probe.batch_size if probe.held else 0)


def test_b29_b30_memory_that_does_not_grow_predicts_nothing() -> None:
    found = find_scripted(most=40)
    assert found.predicted is None
    assert found.batch_size == 40
    assert sizes(found)[-1] == 40


def test_b42_b44_a_checkpoint_that_needs_more_is_found() -> None:
    error = refused(
        partial(trainings.of_kind, trainings.GathersToSave), make_device=partial(trainings.simulated, 8 * MIB)
    )
    assert (error.probes[-1].phase, error.cause) == ("checkpoint", "late_peak")
    assert "the checkpoint did not" in error.why


def test_b42_b40_validation_larger_than_training_has_a_peak_of_its_own() -> None:
    small = find_within(16 * MIB, trainings.large_validation)
    assert small.batch_size <= ordinary().batch_size / 2
    peaks = {peak.phase: peak.peak_allocated_bytes for peak in small.proof.peaks}
    assert peaks["validation"] > 1.2 * max(peaks["train"], peaks["soak"])
    assert any(note.startswith("the validation needs ") for note in small.notes)
    assert not any(note.startswith("the validation needs ") for note in ordinary().notes)


def test_b45_b47_the_breakdown_says_where_the_bytes_go_and_stays_below_what_was_measured() -> None:
    error = refused(trainings.real, make_device=partial(trainings.simulated, 150_000))
    parameters = sum(parameter.numel() * 4 for parameter in trainings.small_net().parameters())
    assert error.breakdown is not None
    assert error.breakdown.parameters_bytes == error.breakdown.gradients_bytes == parameters
    assert error.breakdown.optimizer_bytes == 2 * parameters + 4 * 4  # two moments, and a step count for each tensor
    assert "parameters 0.0361 MiB, gradients 0.0361 MiB, optimiser 0.0723 MiB, activations" in error.why
    found = ordinary()
    assert found.predicted is not None
    assert found.proof.need_bytes is not None
    assert 0.7 * found.proof.need_bytes < found.predicted.peak_bytes <= 1.01 * found.proof.need_bytes


def test_the_search_starts_near_the_prediction() -> None:
    assert sizes(ordinary())[0] == 128


def test_b39_a_kept_graph_is_a_leak_with_its_rate_and_step_of_death() -> None:
    error = refused(
        partial(trainings.of_kind, trainings.SumsItsLoss), make_device=partial(trainings.simulated, 64 * MIB)
    )
    assert error.cause == "leak"
    died = error.probes[-1]
    assert died.growth is not None
    assert 1.5 * MIB < died.growth.bytes_per_step < 3 * MIB
    assert f"a step and ended at step {died.steps + 1}" in error.why
    assert len(error.probes) == 2


def test_a_leak_that_would_end_the_run_later_is_refused_with_the_step() -> None:
    error = refused(
        partial(trainings.of_kind, trainings.Leaking), make_device=partial(trainings.simulated, 400 * MIB), effort=SHORT
    )
    assert error.cause == "leak"
    assert "memory grew by 1.00 MiB a step; it ends at step 39" in error.why


def test_b49_growth_outside_of_pytorch_is_a_leak_too() -> None:
    error = refused(trainings.real, make_device=partial(trainings.DecodingGpu, 400 * MIB), effort=SHORT)
    assert error.cause == "leak"
    assert "memory outside of PyTorch's tensors grew by 1.00 MiB a step" in error.why


def test_a_slow_leak_is_told_and_does_not_refuse() -> None:
    effort = Effort(soak_steps=30, planned_steps=300)
    device = partial(trainings.simulated, 400 * MIB)
    found = find(partial(trainings.of_kind, trainings.Leaking), 64, make_device=device, effort=effort)
    assert any("memory grew by 1.00 MiB a step; it ends at step 39" in note for note in found.notes)


def test_b106_another_process_that_takes_memory_is_named() -> None:
    holder = GpuProcess(pid=4711, name="notebook", user="ada", used_bytes=7 * GIB, kind="compute")
    error = refused(
        trainings.real,
        make_device=partial(trainings.busy, 8 * GIB, 4 * MIB, 6),
        holders=lambda uuid: [holder],
    )
    assert error.cause == "other_process"
    assert "notebook (PID 4711)" in error.why
    assert len(error.probes) == 1


def test_b86_b87_what_spills_into_the_machines_ram_does_not_hold() -> None:
    found = find(trainings.real, make_device=partial(trainings.SpillingGpu, 16 * MIB), effort=SHORT)
    spilled = [probe for probe in found.probes if probe.ended == "spilled"]
    assert spilled
    assert all(probe.batch_size > found.batch_size for probe in spilled)
    assert "the driver moved the rest to the machine's RAM" in spilled[0].text


def test_fragmentation_is_told_from_too_large() -> None:
    found = find(trainings.real, make_device=partial(trainings.fragmented, 16 * MIB), effort=SHORT)
    assert "fragmentation" in {probe.cause for probe in found.probes}
    assert "too_big" not in {probe.cause for probe in found.probes if probe.ended == "out_of_memory"}


@pytest.mark.parametrize(("fault", "words"), [("segfault", "SIGSEGV"), ("layout", "CUDNN_STATUS_NOT_SUPPORTED")])
def test_a_fault_at_every_size_is_no_reason_to_shrink(fault: str, words: str) -> None:
    error = refused(trainings.scripted(crash_above=0, crash_with=fault), start=32, effort=SHORT)
    assert words in error.why
    assert error.what == "the training fails at batch 1, and not for want of memory"
    assert sizes(error) == [32, 1]


def test_a_crash_of_large_batches_only_bounds_the_search() -> None:
    found = find(trainings.scripted(crash_above=32, crash_with="segfault"), start=64, effort=SHORT)
    assert found.batch_size == 32
    assert "SIGSEGV" in found.notes[-1]


def test_b67_a_hang_ends_at_the_time_limit() -> None:
    effort = Effort(soak_steps=30, silence_seconds=1.5)
    error = refused(trainings.scripted(crash_above=0, crash_with="hang", late_step=2), most=1, effort=effort)
    assert error.cause == "hang"
    assert "nothing was heard of it for 1.50 s" in error.why


def test_a_child_ended_by_the_system_counts_as_out_of_memory() -> None:
    found = find(trainings.scripted(crash_above=32, crash_with="killed"), start=64, effort=SHORT)
    assert found.batch_size == 32
    assert "SIGKILL" in found.notes[-1]


def test_b13_b98_the_callers_process_is_untouched() -> None:
    def train(search: bool) -> tuple[list[Any], Any]:
        random.seed(1)
        np.random.seed(1)
        training = trainings.real(8)
        torch.manual_seed(1)
        for step in range(4):
            if search and step == 2:
                find_within(16 * MIB, most=2)
            training.train_step(step)
        weights = [parameter.detach().clone() for parameter in training.model.parameters()]
        return weights, (random.random(), np.random.random(), torch.rand(1).item(), torch.is_grad_enabled())

    (alone, chance), (probed, after) = train(search=False), train(search=True)
    assert chance == after
    assert all(torch.equal(one, other) for one, other in zip(alone, probed, strict=True))


def test_a_training_that_cannot_be_sent_is_said_in_words() -> None:
    with pytest.raises(BadInput, match="cannot be sent to a child process"):
        rigwise.find_batch(lambda batch_size: trainings.real(batch_size), most=8)
    with pytest.raises(BadInput, match="no batch size to search"):
        rigwise.find_batch(trainings.real, most=0)
