"""Checkpoints of a training loop that is not ours: `rigwise.Checkpoints`."""

import hashlib
import os
import resource
import signal
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import torch
from plain_loop import NUM_SAMPLES, PlainLoop, network
from torch import nn

import rigwise
from rigwise.errors import BadInput, CannotTell, CannotWrite
from rigwise.train.checkpoint.checkpoint_file import checkpoint_files

STEPS = 12


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> PlainLoop:
    return PlainLoop(tmp_path_factory.mktemp("uninterrupted")).run(STEPS)


def assert_goes_on(folder: Path, after: int, uninterrupted: PlainLoop) -> PlainLoop:
    """From that step on, every loss and the last weights are those of the uninterrupted training."""
    loop = PlainLoop(folder)
    assert loop.step == after
    loop.run(STEPS - loop.step)
    assert loop.losses == uninterrupted.losses[after:]
    for name, value in uninterrupted.model.state_dict().items():
        assert torch.equal(loop.model.state_dict()[name], value)
    return loop


@pytest.mark.parametrize("killed_after", [1, 2, 5, 8, 11])
def test_it_goes_on_bit_equal_from_the_last_checkpoint(
    uninterrupted: PlainLoop, tmp_path: Path, killed_after: int
) -> None:
    PlainLoop(tmp_path).run(killed_after)
    loop = assert_goes_on(tmp_path, killed_after // 2 * 2, uninterrupted)
    if loop.found:
        assert loop.found.values["best"] == min(uninterrupted.losses[: loop.found.step])


def test_a_loss_that_rounds_otherwise_is_the_same_and_one_percent_is_not(tmp_path: Path) -> None:
    model = network()
    rigwise.Checkpoints(tmp_path).save(step=1, batch_size=4, replay=lambda: 2.0, model=model)
    assert rigwise.Checkpoints(tmp_path).restore(replay=lambda: 2.01, model=model) is not None
    with pytest.raises(CannotTell, match="did not go on"):
        rigwise.Checkpoints(tmp_path).restore(replay=lambda: 2.05, model=model)


def test_what_a_killed_process_was_writing_is_removed_by_the_next(tmp_path: Path) -> None:
    PlainLoop(tmp_path).run(4)
    (tmp_path / "step000000006.unfinished").write_bytes(b"half")
    assert PlainLoop(tmp_path).step == 4
    assert [path.suffix for path in tmp_path.iterdir()] == [".pt", ".pt"]


def test_two_are_kept_and_nothing_else_is_left(tmp_path: Path) -> None:
    loop = PlainLoop(tmp_path).run(9)
    assert [path.name[:13] for path in checkpoint_files(tmp_path)] == ["step000000008", "step000000006"]
    assert len(list(tmp_path.iterdir())) == 2
    loop.checkpoints.remove()
    assert not tmp_path.exists()


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def grow(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize("damage", [flip, truncate, empty, grow])
def test_a_damaged_last_checkpoint_is_told_and_the_one_before_is_used(
    uninterrupted: PlainLoop, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    PlainLoop(tmp_path).run(9)
    last, before = checkpoint_files(tmp_path)
    damage(last)
    found = rigwise.Checkpoints(tmp_path).latest()
    assert found is not None
    assert found.path == before
    assert last.name in found.damaged[0]
    assert "checksum" in found.damaged[0]
    assert_goes_on(tmp_path, 6, uninterrupted)


def test_a_checkpoint_saved_after_a_fallback_is_kept(tmp_path: Path) -> None:
    PlainLoop(tmp_path).run(9)
    empty(checkpoint_files(tmp_path)[0])
    PlainLoop(tmp_path).run(2)
    assert [path.name[:13] for path in checkpoint_files(tmp_path)] == ["step000000008", "step000000006"]
    assert PlainLoop(tmp_path).step == 8


def test_reading_runs_no_code_of_the_file(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
            return os.system, (f"touch {tmp_path / 'run'}",)

    torch.save({"step": Evil()}, tmp_path / "evil.pt")
    digest = hashlib.sha256((tmp_path / "evil.pt").read_bytes()).hexdigest()[:16]
    (tmp_path / "evil.pt").rename(tmp_path / f"step000000009-{digest}.pt")
    with pytest.raises(CannotTell, match="no checkpoint"):
        PlainLoop(tmp_path)
    assert not (tmp_path / "run").exists()


def test_what_could_only_be_read_by_running_code_is_refused_by_name(tmp_path: Path) -> None:
    loop = PlainLoop(tmp_path)
    with pytest.raises(BadInput, match=r"values\.history\[1\] \(numpy\.float64\)"):
        loop.checkpoints.save(step=1, batch_size=4, values={"history": [1.0, np.float64(2.0)]}, **loop.parts)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_not_restored_is_not_trained_over(tmp_path: Path) -> None:
    PlainLoop(tmp_path).run(4)
    anew = rigwise.Checkpoints(tmp_path)
    with pytest.raises(BadInput, match="was not restored"):
        anew.save(step=2, batch_size=4, model=network())
    assert PlainLoop(tmp_path).step == 4


def test_another_recipe_is_named_and_nothing_is_changed(tmp_path: Path) -> None:
    model = network()
    rigwise.Checkpoints(tmp_path, fingerprint={"rate": "0.1", "data": "a"}).save(step=1, batch_size=4, model=model)
    other = network()
    before = {name: value.clone() for name, value in other.state_dict().items()}
    with pytest.raises(BadInput) as refused:
        rigwise.Checkpoints(tmp_path, fingerprint={"rate": "0.2", "data": "a"}).restore(model=other)
    assert refused.value.why == "rate was 0.1, and is 0.2 here"
    assert all(torch.equal(value, before[name]) for name, value in other.state_dict().items())


@pytest.mark.parametrize(
    ("parts", "first"),
    [
        ({}, "model: in the checkpoint, but not given"),
        ({"model": network(), "ema": network()}, "ema: not in the checkpoint, which holds model"),
        ({"model": nn.Linear(6, 8)}, "model was Sequential, and is Linear here"),
        ({"model": nn.Sequential(nn.Linear(6, 8))}, "model: 1.weight is in the checkpoint only"),
        ({"model": network().double()}, "model: 0.weight is (8, 6) float32 in the checkpoint, (8, 6) float64 here"),
        ({"model": nn.Sequential(*network(), nn.Identity(), nn.Linear(3, 1))}, "model: 5.weight is not in the"),
    ],
)
def test_another_model_is_named_by_its_first_difference(
    tmp_path: Path, parts: dict[str, nn.Module], first: str
) -> None:
    rigwise.Checkpoints(tmp_path).save(step=1, batch_size=4, model=network())
    with pytest.raises(BadInput) as refused:
        rigwise.Checkpoints(tmp_path).restore(**parts)
    assert first in refused.value.why


def test_another_optimiser_is_named(tmp_path: Path) -> None:
    model = network()
    adamw, sgd = torch.optim.AdamW(model.parameters()), torch.optim.SGD(model.parameters(), lr=0.1)
    rigwise.Checkpoints(tmp_path).save(step=1, batch_size=4, optimizer=adamw)
    with pytest.raises(BadInput) as refused:
        rigwise.Checkpoints(tmp_path).restore(optimizer=sgd)
    assert refused.value.why == "optimizer was AdamW, and is SGD here"
    fewer = torch.optim.AdamW(network()[:1].parameters())
    with pytest.raises(BadInput, match="does not fit"):
        rigwise.Checkpoints(tmp_path).restore(optimizer=fewer)


def test_buffers_that_a_state_dict_leaves_out_are_kept_too(tmp_path: Path) -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1), persistent=False)

    before, after = Counting(), Counting()
    before.get_buffer("count").fill_(7)
    rigwise.Checkpoints(tmp_path).save(step=1, batch_size=4, model=before)
    rigwise.Checkpoints(tmp_path).restore(model=after)
    assert after.get_buffer("count").item() == 7


def saves_on_a_full_disk(folder: Path) -> None:
    """What a child does whose files may have 4,000 bytes: it trains on, and leaves what it was told."""
    loop = PlainLoop(folder).run(4)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, resource.RLIM_INFINITY))
    with pytest.raises(CannotWrite) as refused:
        loop.run(2)
    (folder / "said").write_text(refused.value.why)


def test_a_full_disk_leaves_the_earlier_checkpoint_and_nothing_half_written(
    uninterrupted: PlainLoop, tmp_path: Path
) -> None:
    child = get_context("forkserver").Process(target=saves_on_a_full_disk, args=(tmp_path,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert (tmp_path / "said").read_text() == "File too large"
    assert not list(tmp_path.glob("*.unfinished"))
    assert_goes_on(tmp_path, 4, uninterrupted)


def test_space_is_looked_at_before_anything_is_written(small_disk: Callable[[int], Path]) -> None:
    disk = small_disk(17 * 2**20)
    with pytest.raises(CannotWrite) as refused:
        rigwise.Checkpoints(disk).save(step=1, batch_size=4, model=nn.Linear(1000, 1000))
    assert "it takes 19.8 MiB, and 17.0 MiB are free" in refused.value.why
    assert list(disk.iterdir()) == []


def trains_and_is_killed(folder: Path) -> None:
    PlainLoop(folder, num_workers=1).run(7)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.timeout(60)
def test_b75_a_loader_with_workers_goes_on_at_its_sample_and_does_not_hang(
    uninterrupted: PlainLoop, tmp_path: Path
) -> None:
    child = get_context("forkserver").Process(target=trains_and_is_killed, args=(tmp_path,))
    child.start()
    child.join(50)
    assert child.exitcode == -signal.SIGKILL
    loop = PlainLoop(tmp_path, num_workers=1).run(STEPS - 6)
    assert loop.losses == uninterrupted.losses[6:]


def test_the_order_of_samples_is_every_sample_once_in_each_epoch() -> None:
    drawn = iter(rigwise.SampleOrder(NUM_SAMPLES, seed=1))
    epochs = [[next(drawn) for _ in range(NUM_SAMPLES)] for _ in range(2)]
    assert all(sorted(epoch) == list(range(NUM_SAMPLES)) for epoch in epochs)
    assert epochs[0] != epochs[1]


def test_ranks_that_do_not_write_restore_all_the_same(tmp_path: Path) -> None:
    first, second = PlainLoop(tmp_path).run(4), network()
    assert rigwise.Checkpoints(tmp_path, writes=False).save(step=1, batch_size=4, model=second) is None
    found = rigwise.Checkpoints(tmp_path, writes=False).restore(**PlainLoop(tmp_path).parts)
    assert found is not None
    assert found.step == 4
    assert first.checkpoints.num_saved == 2


def test_due_counts_steps_and_seconds(tmp_path: Path) -> None:
    now = [0.0]
    by_steps = rigwise.Checkpoints(tmp_path / "a", every_steps=3, every_seconds=0, clock=lambda: now[0])
    by_seconds = rigwise.Checkpoints(tmp_path / "b", every_seconds=10, clock=lambda: now[0])
    assert [by_steps.due(step) for step in (1, 2, 3)] == [False, False, True]
    assert not by_seconds.due(1)
    now[0] = 10.0
    assert by_seconds.due(2)
    by_seconds.save(step=2, batch_size=4, model=network())
    assert not by_seconds.due(3)
