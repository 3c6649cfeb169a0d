"""What is known of one checkpoint, and whether a training goes on where it left it."""

import math
from pathlib import Path
from typing import Any

import msgspec

from rigwise.errors import CannotTell
from rigwise.speech import say

REPLAY_TOLERANCE = 0.01
"""Of the loss. Our choice: bf16 has 8 significant bits (0.4 %), so that a GPU's other order of summing stays below it,
while weights that were not taken over are far above."""
REPLAY_TOLERANCE_NATS = 1e-3
"""The same for losses near zero. Our choice: nobody tells two models apart by it."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a checkpoint beside the states of its parts."""

    path: Path
    step: int
    """Optimiser steps taken."""
    samples_seen: int
    """Samples trained on, those of earlier epochs included: the loader's position."""
    batch_size: int
    """Samples at once, of one process."""
    accumulation: int
    """Batches of one optimiser step, over all processes."""
    values: dict[str, Any]
    """What the caller added."""
    replay_loss: float | None = None
    """What the caller's `replay` gave when this was saved."""
    damaged: tuple[str, ...] = ()
    """Later checkpoints that could not be used, and why, in words."""

    @property
    def effective_batch_size(self) -> int:
        """Samples of one optimiser step."""
        return self.batch_size * self.accumulation

    def steps_left(self, total_samples: int, batch_size: int, accumulation: int = 1) -> int:
        """Optimiser steps until `total_samples` have been seen, at a batch that may be another than before.

        Counted in samples: another batch size or accumulation neither ends a training early nor makes it longer
        (https://github.com/huggingface/transformers/issues/25956, pull/43718).
        """
        return max(0, math.ceil((total_samples - self.samples_seen) / (batch_size * accumulation)))


def must_replay(before: float, now: float, path: Path) -> None:
    """Nothing, where a replayed loss is what it was when the checkpoint was saved.

    Raises:
        CannotTell: it is another one.
    """
    both_nan = math.isnan(before) and math.isnan(now)
    if not both_nan and not math.isclose(before, now, rel_tol=REPLAY_TOLERANCE, abs_tol=REPLAY_TOLERANCE_NATS):
        raise CannotTell(
            say("the training did not go on where {path} left it", path=path),
            say("the same batch has loss {now}, and had {before} when it was saved", now=now, before=before),
            say("see that nothing sets weights after they were restored"),
        )
