"""Ends a trial whose validation loss no longer falls."""

import math
from typing import Any

from rigwise.speech import say
from rigwise.train.knobs.section import KnobsSection
from rigwise.train.step.state import TrialState


class EarlyStop:
    """A trial's watcher: so many validations in a row without a gain are enough.

    Prechelt, Early Stopping - But When?, 1998. The weights stay those of the last step.
    """

    def __init__(self, patience: int, min_delta: float) -> None:
        self._patience = patience
        self._min_delta = min_delta
        self._best = math.inf
        self._without_gain = 0
        self._said = ""
        self._remarks: list[str] = []

    def began(self, state: TrialState) -> None:
        """Nothing has been validated yet; what it counts is kept with the trial."""
        state.also["early_stop"] = self
        self._remarks = state.remarks

    def state_dict(self) -> dict[str, Any]:
        """What it counts, and what it said."""
        return {"best": self._best, "without_gain": self._without_gain, "said": self._said}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Count on from there."""
        self._best, self._without_gain, self._said = state["best"], state["without_gain"], state["said"]
        self._remarks += [self._said] if self._said else []

    def stepped(self, state: TrialState) -> None:
        """Only validations count."""

    def goes_on(self, state: TrialState) -> bool:
        """Whether the last validation, or one not long before, brought a gain."""
        loss = state.scores.mean_loss if state.scores else math.inf
        if loss < self._best - self._min_delta:
            self._best, self._without_gain = loss, 0
            return True
        self._without_gain += 1
        if self._without_gain < self._patience or state.step >= state.plan.steps:
            return True
        self._said = say(
            "ended after {done} of {planned} steps, {saved} saved: {count} validations in a row brought no gain",
            done=state.step,
            planned=state.plan.steps,
            saved=state.plan.steps - state.step,
            count=self._without_gain,
        )
        state.remarks.append(self._said)
        return False


def early_stop(knobs: KnobsSection) -> tuple[EarlyStop, ...]:
    """The watcher, where a recipe asks for it."""
    return (EarlyStop(knobs.patience, knobs.min_delta),) if knobs.patience else ()
