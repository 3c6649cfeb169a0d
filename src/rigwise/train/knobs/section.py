"""`[knobs]` of a recipe: as it stands by default a trial is what it is without any knob. No torch here."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from rigwise.speech import say
from rigwise.train.ranges import outside

OptimizerName = Literal["adamw", "adamw_fused", "adamw8bit", "adafactor", "sgd"]


class KnobsSection(msgspec.Struct, frozen=True, kw_only=True):
    """What spares memory, what speeds a step up, and what steadies learning."""

    optimizer: OptimizerName = "adamw"
    """`adamw_fused` updates in one kernel; `adamw8bit` and `adafactor` hold less; `sgd` with Nesterov momentum 0.9."""
    optimizer_in_backward: bool = False
    """Whether each parameter is updated, and its gradient freed, as soon as backward has it."""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Of the trial beside fp32: `auto` is what the device does best, `fp32` none."""
    checkpointing: bool = False
    """Whether activations are computed again in backward instead of kept."""
    accumulation_steps: int = 1
    """Micro-batches that make up a batch; the batch stays."""
    freeze_backbone: bool = False
    """Whether only the classifier learns; the statistics of BatchNorm stay too."""
    channels_last: bool = False
    compile: bool = False
    """Whether the model goes through torch.compile."""
    expandable_segments: bool = False
    """Whether PyTorch's allocator grows its segments: less fragmentation. Of the whole process."""
    ema_decay: float = 0.0
    """Of the average of the weights, which is then what is validated and kept; 0 for none."""
    label_smoothing: float = 0.0
    """Share of the truth given to all classes alike."""
    clip_norm: float = 0.0
    """Longest gradient; 0 for any."""
    validations: int = 4
    """Of each trial, evenly spaced, the last one at its end."""
    patience: int = 0
    """Validations in a row without a gain after which a trial ends; 0 for never."""
    min_delta: float = 0.0
    """Nats of validation loss that count as a gain."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, and every two that do not go together, in words."""
        yield from outside("accumulation_steps", self.accumulation_steps, 1, 4096)
        yield from outside("ema_decay", self.ema_decay, 0.0, 0.999999)
        yield from outside("label_smoothing", self.label_smoothing, 0.0, 0.9)
        yield from outside("clip_norm", self.clip_norm, 0.0, 1e6)
        yield from outside("validations", self.validations, 1, 10_000)
        yield from outside("min_delta", self.min_delta, 0.0, 1e6)
        if not 0 <= self.patience < max(1, self.validations):
            yield say(
                "patience = {patience}: of {validations} validations so many in a row cannot bring an early end",
                patience=self.patience,
                validations=self.validations,
            )
        yield from self._contradictions()

    def _contradictions(self) -> Iterator[str]:
        if self.checkpointing and self.compile:
            yield say("checkpointing and compile: compiling decides itself what is kept for backward; leave one out")
        if not self.optimizer_in_backward:
            return
        if self.precision == "fp16":
            yield say(
                "optimizer_in_backward and precision = fp16: the loss scale must see every gradient before the first "
                "update; take bf16"
            )
        if self.accumulation_steps > 1:
            yield say(
                "optimizer_in_backward and accumulation_steps = {steps}: a gradient that is freed at once cannot be "
                "added to; leave one out",
                steps=self.accumulation_steps,
            )
        if self.clip_norm > 0:
            yield say(
                "optimizer_in_backward and clip_norm = {norm}: the length of the whole gradient is known only after "
                "the last parameter; leave one out",
                norm=self.clip_norm,
            )
