"""A small experiment in a child process that is killed at a chosen moment, and what it has left by then.

Children are fresh forks of a server that has imported torch once, so that a test can afford many of them.
"""

import multiprocessing
import os
import resource
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec
import torch
from simulated_progress import Told
from torch import Tensor, nn
from training_lab import small_recipe

from rigwise.errors import RigwiseError
from rigwise.telemetry.reading import load_run
from rigwise.telemetry.run_folder import RunFolder
from rigwise.telemetry.writer import RunWriter
from rigwise.train.checkpoint.run_checkpoints import RunCheckpoints
from rigwise.train.checkpoint.run_lock import RunLock
from rigwise.train.experiment import run_experiment
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.recipe_sections import CheckpointsSection
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import Batch, TrialInputs

STEPS = 8
WAIT_SECONDS = 60.0
PRELOADED = ["torch._dynamo", "timm", "rigwise.train.experiment", "rigwise.train.picture_lab"]
"""What the server imports once: what takes seconds."""


class Dying(msgspec.Struct, frozen=True, kw_only=True):
    """When the process kills itself: at a call of something, counted from 1; never where it is not called so often."""

    at: str = ""
    """`inputs`, `batch`, `loss`, `validate` or `review`."""
    call: int = 0


class DyingLab(PictureLab, frozen=True, kw_only=True):
    """A laboratory in which the power goes out."""

    dying: Dying
    calls: dict[str, int]

    def inputs(self, batch_size: int) -> TrialInputs:
        self.reached("inputs")
        inputs = super().inputs(batch_size)

        def loss(model: nn.Module, batch: Batch) -> Tensor:
            self.reached("loss")
            return inputs.loss(model, batch)

        def batches(num_steps: int, start_step: int) -> Iterable[Batch]:
            for batch in inputs.train_batches(num_steps, start_step):
                self.reached("batch")
                yield batch

        def validate(model: nn.Module, precision: str) -> Scored:
            self.reached("validate")
            return inputs.validate(model, precision)

        def review(model: nn.Module, precision: str) -> Scored:
            self.reached("review")
            return inputs.review(model, precision)

        return TrialInputs(model=inputs.model, loss=loss, train_batches=batches, validate=validate, review=review)

    def reached(self, what: str) -> None:
        self.calls[what] = self.calls.get(what, 0) + 1
        if (self.dying.at, self.dying.call) == (what, self.calls[what]):
            os.kill(os.getpid(), signal.SIGKILL)


def experiment(run: Path, pictures: Path, dying: Dying, limit_bytes: int, recipe: dict[str, Any]) -> None:
    """What a child does: begin the experiment in this folder, or go on with it, and leave its weights beside."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if limit_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))
    told = Told()
    try:
        _experiment(RunFolder(run), pictures, dying, told, recipe)
    except RigwiseError as error:
        (run / "error").write_text("\n".join((type(error).__name__, error.what, error.why, error.next_step)))
    (run / "told").write_text("\n".join(told.sentences))


def _experiment(folder: RunFolder, pictures: Path, dying: Dying, told: Told, recipe: dict[str, Any]) -> None:
    whole = msgspec.structs.replace(small_recipe(steps=STEPS, **recipe), checkpoints=CheckpointsSection(every_steps=2))
    recorded = load_run(folder.path) if folder.database.exists() else None
    folder.path.mkdir(exist_ok=True)
    with RunLock(folder.path), RunWriter(folder.database, continues=recorded is not None) as writer:
        checkpoints = RunCheckpoints(folder.path, whole.checkpoints, writer, told, recorded)
        lab = DyingLab(
            recipe=whole,
            pictures=read_pictures(pictures, seed=0),
            device=CpuDevice(),
            no_gpu="no GPU in this test",
            writer=writer,
            folder=folder,
            progress=told,
            checkpoints=checkpoints,
            dying=dying,
            calls={},
        )
        left = run_experiment(lab).trained
        torch.save({name: trained.weights for name, trained in left.items()}, folder.path / "weights.pt")


def begin(
    run: Path, pictures: Path, dying: Dying | None = None, *, limit_bytes: int = 0, **recipe: object
) -> BaseProcess:
    """The experiment, started or gone on with in a child process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    child = context.Process(target=experiment, args=(run, pictures, dying or Dying(), limit_bytes, recipe))
    child.start()
    return child


def end(child: BaseProcess) -> int:
    """Its exit code; -9 where it was killed."""
    child.join(WAIT_SECONDS)
    if child.exitcode is None:
        child.kill()
        raise AssertionError("the child did not end")
    return child.exitcode


def to_the_end(run: Path, pictures: Path, dying: Dying | None = None, **options: Any) -> int:
    """Exit code of the experiment in a child process."""
    return end(begin(run, pictures, dying, **options))


def wait_until(something: Callable[[], object]) -> None:
    """Return as soon as it is true."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not something():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.0005)


def losses(run: Path) -> list[tuple[str, int, float]]:
    """Trial, step and loss of every recorded step, in the order they were recorded."""
    with sqlite3.connect(run / "run.sqlite") as connection:
        return connection.execute("SELECT trial, step, loss FROM steps ORDER BY rowid").fetchall()


def validations(run: Path) -> list[tuple[str, int, float, int]]:
    """Trial, step, loss and right answers of every recorded validation."""
    with sqlite3.connect(run / "run.sqlite") as connection:
        return connection.execute("SELECT trial, step, loss, correct FROM validations ORDER BY rowid").fetchall()


def weights(run: Path) -> dict[str, dict[str, Tensor]]:
    """Trial to weights, as the experiment left them."""
    return torch.load(run / "weights.pt", weights_only=True)


def assert_same_run(one: Path, other: Path) -> None:
    """Every loss, every validation and every weight of both is the same to the last bit."""
    assert losses(one) == losses(other)
    assert validations(one) == validations(other)
    assert rows(one) == rows(other)
    for trial, state in weights(one).items():
        other_state = weights(other)[trial]
        assert all(torch.equal(value, other_state[key]) for key, value in state.items())


def rows(run: Path) -> list[tuple[str, int, int | None]]:
    """Trial, steps and right answers of every row of the comparison."""
    return [(row.name, row.steps, row.val_correct) for row in load_run(run).trials]
