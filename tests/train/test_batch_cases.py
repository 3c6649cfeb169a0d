"""More of the reports behind the batch search: compiled models, accumulation, faults that have a line of their own."""

from functools import partial
from pathlib import Path

import batch_trainings as trainings
import msgspec
import pytest

import rigwise
from rigwise.records.gpu import GpuProcess
from rigwise.train.batch.others import others_on
from rigwise.train.batch.search import Effort
from rigwise.train.batch.verdict import NoBatchHolds
from rigwise.train.step.device import CpuDevice
from rigwise.units import GIB, MIB

SHORT = Effort(soak_steps=8, silence_seconds=60.0)


def test_b26_sizes_are_searched_without_compiling_and_the_one_found_is_compiled_once(tmp_path: Path) -> None:
    found = rigwise.find_batch(
        trainings.real,
        most=100,
        compiled=partial(trainings.compiled, str(tmp_path)),
        effort=SHORT,
        make_device=partial(trainings.simulated, 4 * MIB),
    )
    assert (tmp_path / "compiled").read_text() == f"{found.batch_size}\n"
    assert found.proof.compiled
    assert found.proof.steps == 8
    assert len([probe for probe in found.probes if not probe.compiled]) > 2
    assert found.notes[0] == "searched without torch.compile, and proved with it"


def test_b26_a_size_that_does_not_hold_once_compiled_gives_way_to_one_that_does() -> None:
    found = rigwise.find_batch(
        trainings.real,
        most=100,
        compiled=partial(trainings.with_graphs, 2 * MIB),
        effort=SHORT,
        make_device=partial(trainings.simulated, 4 * MIB),
    )
    eager = max(probe.batch_size for probe in found.probes if probe.held and not probe.compiled)
    assert next(probe.batch_size for probe in found.probes if probe.compiled) == eager
    assert found.proof.compiled
    assert found.batch_size < eager


def test_b51_the_peak_is_that_of_the_whole_step_with_its_first_micro_batch() -> None:
    device = partial(trainings.simulated, 16 * MIB)
    build = partial(trainings.of_kind, trainings.Accumulates)
    whole = rigwise.find_batch(trainings.real, most=64, start=64, effort=SHORT, make_device=device)
    parts = rigwise.find_batch(build, most=64, start=64, effort=SHORT, make_device=device)
    assert parts.batch_size == whole.batch_size == 64
    assert parts.proof.need_bytes == pytest.approx(whole.proof.need_bytes, rel=0.02)
    assert parts.predicted is not None
    assert parts.predicted.gradients_bytes == parts.predicted.optimizer_bytes // 2 - 8
    assert parts.predicted.peak_bytes == pytest.approx(parts.proof.need_bytes, rel=0.05)


def test_b54_a_tensor_on_the_wrong_device_is_named_with_its_module_and_line() -> None:
    with pytest.raises(NoBatchHolds) as caught:
        rigwise.find_batch(trainings.on_the_wrong_device, most=8, effort=SHORT, make_device=trainings.cpu)
    assert caught.value.cause == "fault"
    assert "expected device meta" in caught.value.why
    assert "batch_trainings.py, line" in caught.value.why
    assert "in OnTheWrongDevice.forward" in caught.value.why


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("jax_exit", "RESOURCE_EXHAUSTED"),
        ("bad_alloc", "std::bad_alloc"),
        ("own_handler", "CUDA out of memory. Tried to allocate 2.00 GiB"),
    ],
)
def test_b36_what_a_process_printed_before_it_ended_counts(how: str, words: str) -> None:
    build = trainings.scripted(crash_above=40, crash_with=how, late_step=2)
    found = rigwise.find_batch(build, most=64, start=64, effort=SHORT, make_device=trainings.cpu)
    failed = found.probes[0]
    assert (failed.ended, failed.steps) == ("out_of_memory", 2)
    assert words in failed.text
    assert found.batch_size in range(36, 41)


def test_b36_what_a_process_overcame_is_not_why_it_crashed() -> None:
    build = trainings.scripted(crash_above=40, crash_with="overcome", late_step=2)
    found = rigwise.find_batch(build, most=64, start=64, effort=SHORT, make_device=trainings.cpu)
    assert (found.probes[0].ended, found.probes[0].cause) == ("crashed", "crash")


def test_b39_what_each_validation_keeps_is_a_leak_too() -> None:
    build = partial(trainings.of_kind, trainings.KeepsItsOutputs)
    with pytest.raises(NoBatchHolds) as caught:
        rigwise.find_batch(build, most=16, start=16, effort=SHORT, make_device=partial(trainings.simulated, 32 * MIB))
    assert caught.value.cause == "leak"
    assert "each validation keeps 2.00 MiB: memory ends after 13 more" in caught.value.why
    assert "keep no outputs of a validation on the GPU" in caught.value.next_step


def test_b39_a_second_validation_that_does_not_fit_where_the_first_one_did_is_a_leak() -> None:
    build = partial(trainings.of_kind, trainings.KeepsItsOutputs)
    with pytest.raises(NoBatchHolds, match="memory leaks: no batch size lasts") as caught:
        rigwise.find_batch(build, most=8, start=8, effort=SHORT, make_device=partial(trainings.simulated, 4 * MIB))
    assert "each validation keeps 2.00 MiB: the second one did not fit" in caught.value.why


def test_a_validation_that_hangs_is_no_validation_that_does_not_fit() -> None:
    effort = Effort(soak_steps=8, silence_seconds=1.5)
    found = rigwise.find_batch(
        trainings.scripted(hang_in_validation_above=3), most=4, start=4, effort=effort, make_device=trainings.cpu
    )
    assert found.batch_size in (2, 3)
    assert "nothing was heard of it for 1.50 s" in found.notes[-1]


HOLDER = GpuProcess(pid=4711, name="notebook", user="ada", used_bytes=20 * GIB, kind="compute")


def test_b106_who_holds_the_memory_from_the_start_is_named_when_nothing_fits() -> None:
    with pytest.raises(NoBatchHolds) as caught:
        rigwise.find_batch(
            trainings.real,
            most=4,
            start=1,
            effort=SHORT,
            make_device=partial(trainings.held_elsewhere, 24 * GIB, 100_000),
            holders=lambda uuid: [HOLDER],
        )
    assert caught.value.what == "batch 1 does not fit"
    assert "other programs hold 24.0 GiB of 24.0 GiB: notebook (PID 4711)" in caught.value.why
    assert caught.value.next_step == "end the other programs on this GPU, or choose another GPU"


def test_b106_before_each_trial_the_holder_is_named() -> None:
    others = others_on(trainings.held_elsewhere(24 * GIB, 2 * GIB), lambda uuid: [HOLDER])
    assert others == "other programs hold 22.0 GiB of 24.0 GiB: notebook (PID 4711)"
    asked: list[str] = []
    assert others_on(trainings.simulated(24 * GIB), lambda uuid: asked.append(uuid) or []) == ""
    assert others_on(CpuDevice(), lambda uuid: asked.append(uuid) or []) == ""
    assert asked == []


def test_another_program_that_takes_more_with_every_step_is_no_leak_of_the_training() -> None:
    """What grew is still held once the probe is gone."""
    with pytest.raises(NoBatchHolds) as caught:
        rigwise.find_batch(
            trainings.real,
            most=4,
            start=1,
            effort=Effort(soak_steps=20),
            make_device=partial(trainings.DecodingGpu, 400 * MIB),
            holders=lambda uuid: [msgspec.structs.replace(HOLDER, used_bytes=30 * MIB)],
        )
    assert caught.value.cause == "other_process"
    assert "notebook (PID 4711)" in caught.value.why


def test_memory_that_others_took_and_gave_back_is_no_reason_for_a_smaller_batch() -> None:
    with pytest.raises(NoBatchHolds) as caught:
        rigwise.find_batch(
            trainings.real,
            most=4,
            start=4,
            effort=SHORT,
            make_device=partial(trainings.borrowed, 16 * GIB, 15 * GIB),
            holders=lambda uuid: [],
        )
    assert caught.value.cause == "other_process"
    assert "other programs took 15.0 GiB while it ran" in caught.value.why
