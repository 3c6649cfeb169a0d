"""Collects what a trial's steps gave and hands it to the run folder, without stopping the device.

Losses stay on the device until they are collected: every half second or `MOST_PENDING` steps, whichever comes first, so
that one read-back serves many steps and the record is less than a second late.
"""

import math
import time
from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

from rigwise.records.run import Step, Validation
from rigwise.speech import say
from rigwise.train.step.scoring import Scored
from rigwise.train.step.step_clock import StepClock

COLLECT_SECONDS = 0.5
MOST_PENDING = 50


class LossIsNotFinite(Exception):
    """The loss became NaN or infinite; the trial cannot go on."""


class Ledger:
    """Steps and validations of one trial, on their way to the run folder."""

    def __init__(
        self,
        trial: str,
        clock: Callable[[], float],
        on_step: Callable[[Step], None],
        on_validation: Callable[[Validation], None],
    ) -> None:
        """Collect for `trial`.

        Args:
            trial: name the steps are filed under.
            clock: seconds since the run began.
            on_step: takes each finished step.
            on_validation: takes each validation.
        """
        self.steps: list[Step] = []
        self._trial = trial
        self._clock = clock
        self._on_step = on_step
        self._on_validation = on_validation
        self._pending: deque[tuple[float, float, Tensor]] = deque()
        self._collected_at = time.perf_counter()

    def note(self, loss: Tensor, data_seconds: float, clock: StepClock) -> None:
        """A step was submitted; collect when it is time."""
        self._pending.append((self._clock(), data_seconds, loss))
        late = time.perf_counter() - self._collected_at >= COLLECT_SECONDS
        if late or len(self._pending) >= MOST_PENDING:
            self.collect(clock)

    def collect(self, clock: StepClock, *, wait: bool = False) -> None:
        """Hand over every step whose duration is known; with `wait`, every step.

        Raises:
            LossIsNotFinite: a loss is NaN or infinite. Steps up to it are handed over first.
        """
        durations = clock.ready(wait=wait)
        taken = [self._pending.popleft() for _ in durations]
        losses = torch.stack([loss for _, _, loss in taken]).tolist() if taken else []
        for (at, data_seconds, _), seconds, loss in zip(taken, durations, losses, strict=True):
            self._hand_over(at, seconds, data_seconds, loss)
        self._collected_at = time.perf_counter()

    def _hand_over(self, at: float, seconds: float, data_seconds: float, loss: float) -> None:
        step = Step(
            trial=self._trial,
            step=len(self.steps) + 1,
            at=at,
            step_seconds=seconds,
            data_seconds=data_seconds,
            loss=loss,
        )
        self.steps.append(step)
        self._on_step(step)
        if not math.isfinite(loss):
            raise LossIsNotFinite(say("the loss became {loss} at step {step}", loss=loss, step=step.step))

    def validated(self, step: int, scores: Scored) -> None:
        """Accuracy was measured after `step`."""
        self._on_validation(
            Validation(
                trial=self._trial,
                step=step,
                at=self._clock(),
                loss=scores.mean_loss,
                correct=scores.num_correct,
                total=scores.num_answers,
            )
        )
