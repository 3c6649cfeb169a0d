"""The search for a learning rate, as records: the curve, and what it suggests."""

import msgspec

LEARNING_RATE_SCHEMA = "rigwise.learning_rate/1"


class RatePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the sweep."""

    learning_rate: float
    loss: float
    smoothed_loss: float
    """Exponential mean of the losses so far, without its bias towards zero."""


class LearningRateSearch(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep of rising learning rates over real batches; whatever it trained was put back."""

    schema: str = LEARNING_RATE_SCHEMA
    points: tuple[RatePoint, ...]
    """In the order they ran; the losses are finite."""
    suggestion: float | None
    """The middle of the longest fall; None where nothing can be suggested."""
    steepest: float | None
    """Where the smoothed loss falls fastest; None likewise."""
    ended: str
    """Why the sweep ended, in words."""
    why_not: str = ""
    """Why nothing is suggested, in words; empty when something is."""
