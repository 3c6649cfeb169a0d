"""What knobs of a trial cost and gain, and the peak of its memory: predicted by category, and measured. Bytes."""

import msgspec

KNOBS_SCHEMA = "rigwise.knobs/1"


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    """A training step at its fullest moment, by what the bytes hold; traced without taking them, a lower bound.

    It does not see the CUDA context, cuDNN's work space, the allocator's rounding and fragmentation.
    """

    parameters_bytes: int
    """With buffers, and with the average of the weights, if any."""
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    """Kept for backward, inputs included."""
    temporary_bytes: int
    """Everything else alive at that moment; what checkpointing computes again, too."""

    @property
    def total_bytes(self) -> int:
        """The sum."""
        return (
            self.parameters_bytes
            + self.gradients_bytes
            + self.optimizer_bytes
            + self.activations_bytes
            + self.temporary_bytes
        )


class TrialPeak(msgspec.Struct, frozen=True, kw_only=True):
    """One trial's peak, predicted beside measured."""

    trial: str
    predicted: Peak | None
    """None where it could not be traced."""
    why_not: str = ""
    """Why there is no prediction, in words."""
    allocated_bytes: int | None = None
    """The most PyTorch's allocator had handed out; None on the CPU."""
    reserved_bytes: int | None = None
    """The most it held of the card, handed out or not."""


class KnobResult(msgspec.Struct, frozen=True, kw_only=True):
    """One knob, the recommended trial with it beside the same trial without it."""

    name: str
    in_recipe: bool
    """Whether the trials of this run had it."""
    same_training: bool = True
    """Whether losses should be what they are without it, but for rounding."""
    why_not: str = ""
    """Why it was not compared; empty when it was."""
    step_time_ratio: float | None = None
    """Median of the paired ratios with / without."""
    step_time_low_ratio: float | None = None
    step_time_high_ratio: float | None = None
    confidence_ratio: float | None = None
    num_pairs: int = 0
    setup_seconds: float = 0.0
    """What switching it on costs once, beyond the steps themselves."""
    predicted_before: Peak | None = None
    predicted_after: Peak | None = None
    measured_before_bytes: int | None = None
    measured_after_bytes: int | None = None
    """Peak of the allocator over the same steps; None on the CPU."""
    loss_difference_ratio: float | None = None
    """Largest difference of the first losses, of their size; None where another training is the purpose."""
    gradient_difference_ratio: float | None = None
    """Length of the difference of the first gradients, of their length; the same."""
    kept: bool = False
    """Whether it is worth having, by what was measured."""
    because: str = ""
    """Why, in words."""

    @property
    def predicted_ratio(self) -> float | None:
        """Predicted peak with / without."""
        if self.predicted_before is None or self.predicted_after is None:
            return None
        return self.predicted_after.total_bytes / self.predicted_before.total_bytes

    @property
    def measured_ratio(self) -> float | None:
        """Measured peak with / without."""
        if not self.measured_before_bytes or self.measured_after_bytes is None:
            return None
        return self.measured_after_bytes / self.measured_before_bytes


class KnobsReport(msgspec.Struct, frozen=True, kw_only=True):
    """The peak of every full trial, every knob that was looked at, and how the process takes its memory."""

    schema: str = KNOBS_SCHEMA
    peaks: tuple[TrialPeak, ...] = ()
    trial: str = ""
    """The trial that the knobs were tried on; "" where none was."""
    knobs: tuple[KnobResult, ...] = ()
    allocator: str = ""
    """Whether PyTorch's allocator grows its segments, in words; "" where nobody asked."""
