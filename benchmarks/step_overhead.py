"""What rigwise adds to a training step, beside other people's loops: microseconds over bare PyTorch. Prints one table.

Two-layer MLP, batch 32, AdamW with a schedule, one thread, on the CPU; rounds of 500 steps, interleaved so that
whatever else the machine does falls on all variants alike. `step` is the wall time of one step; the budget is 20
microseconds over the bare loop. `CPU` is the whole process for one step, with the threads that write and sample. Whole
loops, that of `rigwise train` and those of others where installed, are measured from one step's end to the next, over a
bare loop measured alike.

    python benchmarks/step_overhead.py
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from step_overhead_peers import Run, Schedule, StepEnds, loader, loops
from torch import Tensor, nn

from rigwise.records.run import Step
from rigwise.sources.live import LiveSource
from rigwise.telemetry.sampler import Sampler
from rigwise.telemetry.writer import RunWriter
from rigwise.train.batch.recovery import RecoveringStep
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.ledger import Ledger
from rigwise.train.step.plan import TrialPlan, learning_rate_share
from rigwise.train.step.state import TrialInputs, TrialState
from rigwise.train.step.trial import run_trial

NUM_ROUNDS = 8
STEPS_PER_ROUND = 500
WARMUP_STEPS = 100
BUDGET_MICROSECONDS = 20
PLAN = TrialPlan(
    name="mlp",
    precision="fp32",
    batch_size=32,
    image_size=0,
    steps=WARMUP_STEPS + STEPS_PER_ROUND,
    learning_rate=1e-3,
    weight_decay=0.01,
    warmup_steps=10,
    seed=0,
)

Train = Callable[[], Tensor]


class Round(NamedTuple):
    """Microseconds of one round."""

    step: float
    """Median wall time of a step."""
    cpu: float
    """Mean CPU time of the process for a step, all threads."""


def main() -> None:
    torch.set_num_threads(1)
    variants = {
        "bare loop": bare,
        "recovering step": recovering,
        "record + sampler": recorded,
    }
    others = {name: partial(whole_loop, run) for name, run in loops({"as rigwise train": as_rigwise_train})}
    rounds: dict[str, list[Round]] = {name: [] for name in (*variants, *others)}
    for _ in range(NUM_ROUNDS):
        for name, variant in (variants | others).items():
            rounds[name].append(variant(fresh_parts()))
    print(f"{'':18}{'step us':>10}{'over bare':>10}{'ratio':>8}{'CPU us':>10}{'over bare':>10}")
    for name, own in rounds.items():
        print(f"{name:18}{row(own, rounds['bare loop' if name in variants else 'bare loop, loader'])}")
    print(f"medians of {NUM_ROUNDS} rounds of {STEPS_PER_ROUND} steps; budget {BUDGET_MICROSECONDS} us over bare")


def row(own: list[Round], bare: list[Round]) -> str:
    """The figures of one variant; differences are taken within a round."""
    step, cpu = (statistics.median(column) for column in zip(*own, strict=True))
    differences = [(mine.step - theirs.step, mine.cpu - theirs.cpu) for mine, theirs in zip(own, bare, strict=True)]
    step_over, cpu_over = (statistics.median(column) for column in zip(*differences, strict=True))
    return f"{step:10.1f}{step_over:10.1f}{step / (step - step_over):8.3f}{cpu:10.1f}{cpu_over:10.1f}"


class Parts(NamedTuple):
    """A fresh training."""

    model: nn.Module
    schedule: torch.optim.lr_scheduler.LambdaLR
    batch: tuple[Tensor, Tensor]

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """That of the schedule."""
        return self.schedule.optimizer


def fresh_parts() -> Parts:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    batch = torch.randn(32, 64), torch.randint(0, 10, (32,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=PLAN.learning_rate, weight_decay=PLAN.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(learning_rate_share, plan=PLAN))
    return Parts(model, schedule, batch)


def mean_loss(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


def training_step(parts: Parts) -> Train:
    """The function that trains one step and returns the loss, in bare PyTorch."""

    def train() -> Tensor:
        parts.optimizer.zero_grad()
        loss = mean_loss(parts.model, parts.batch)
        loss.backward()
        parts.optimizer.step()
        parts.schedule.step()
        return loss.detach()

    return train


def timed(step: Callable[[int], object]) -> Round:
    """One round."""
    for number in range(WARMUP_STEPS):
        step(number)
    seconds = []
    cpu_began = time.process_time()
    for number in range(STEPS_PER_ROUND):
        began = time.perf_counter()
        step(number)
        seconds.append(time.perf_counter() - began)
    cpu_seconds = (time.process_time() - cpu_began) / STEPS_PER_ROUND
    return Round(statistics.median(seconds) * 1e6, cpu_seconds * 1e6)


def bare(parts: Parts) -> Round:
    """Nothing but PyTorch."""
    train = training_step(parts)
    return timed(lambda _: train())


def recovering(parts: Parts) -> Round:
    """A step that can be taken again in micro-batches."""
    take_step = RecoveringStep(parts.model, parts.optimizer, mean_loss, watch_loss=False)

    def step(_: int) -> None:
        take_step(parts.batch)
        parts.schedule.step()

    return timed(step)


def recorded(parts: Parts) -> Round:
    """A record for each step, the sampler beside it. The loss is not read back."""
    train = training_step(parts)
    with ExitStack() as stack:
        writer = writer_with_sampler(stack)

        def step(number: int) -> None:
            train()
            at = writer.elapsed()
            writer.record(Step(trial="mlp", step=number, at=at, step_seconds=0.0, data_seconds=0.0, loss=0.0))

        return timed(step)


def as_rigwise_train(model: nn.Module, schedule: Schedule, batches: Iterable[tuple[Tensor, Tensor]]) -> StepEnds:
    """The loop of `rigwise train` itself, which makes its own optimiser and schedule, alike: nothing is left out."""
    ends = Ends()
    with ExitStack() as stack:
        writer = writer_with_sampler(stack)
        ledger = Ledger("mlp", writer.elapsed, writer.record, writer.record)
        inputs = TrialInputs(
            model=model,
            loss=mean_loss,
            train_batches=lambda steps, start: batches,
            validate=lambda model, precision: NoScores(),
            review=lambda model, precision: NoScores(),
        )
        run_trial(PLAN, inputs, CpuDevice(), ledger, [ends])
    return ends.at


class Ends:
    """Notes when each step of a trial ended."""

    def __init__(self) -> None:
        self.at: StepEnds = []

    def began(self, state: TrialState) -> None:
        """Nothing to note."""

    def stepped(self, state: TrialState) -> None:
        """Now."""
        self.at.append(time.perf_counter())

    def goes_on(self, state: TrialState) -> bool:
        """To the last step."""
        return True


class NoScores:
    """Validation is no part of what is measured."""

    mean_loss = 0.0
    num_correct = 0
    num_answers = 1


def whole_loop(run: Run, parts: Parts) -> Round:
    """A whole loop over the same batch: the time between two step ends."""
    steps = WARMUP_STEPS + STEPS_PER_ROUND
    cpu_began = time.process_time()
    ends = run(parts.model, parts.schedule, loader(parts.batch, steps))
    cpu_seconds = (time.process_time() - cpu_began) / steps
    if len(ends) != steps:
        raise AssertionError(f"{len(ends)} steps ended, not {steps}")
    seconds = [end - begin for begin, end in pairwise(ends[WARMUP_STEPS:])]
    return Round(statistics.median(seconds) * 1e6, cpu_seconds * 1e6)


def writer_with_sampler(stack: ExitStack) -> RunWriter:
    """A writer in a folder of its own and a running sampler, both ended with the stack."""
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    writer = stack.enter_context(RunWriter(Path(folder) / "run.sqlite"))
    stack.enter_context(Sampler(LiveSource(), writer))
    return writer


if __name__ == "__main__":
    main()
