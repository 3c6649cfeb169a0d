"""The sections of a recipe: typed, with units in the comments and the range check beside each value."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from rigwise.speech import say
from rigwise.train.knobs.section import KnobsSection
from rigwise.train.ranges import outside as _outside
from rigwise.train.step.plan import SMALLEST_BATCH


class ModelSection(msgspec.Struct, frozen=True, kw_only=True):
    """Which network starts from which weights."""

    name: str = "tf_efficientnet_lite0"
    """Any timm model name."""
    weights: str = "auto"
    """`auto` (real pretrained weights, or an error), `none` (random, asked for), or a file."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        if not self.name.strip():
            yield say("name: must not be empty")


class PicturesSection(msgspec.Struct, frozen=True, kw_only=True):
    """How DATA is read and split."""

    image_size: int = 224
    """Pixels, square, as the network sees it."""
    val_ratio: float = 0.15
    test_ratio: float = 0.15
    """Shares held back when DATA is one folder of classes."""
    max_bad_ratio: float = 0.05
    """A run stops when more than this share of the files is unreadable."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        yield from _outside("image_size", self.image_size, 32, 1024)
        yield from _outside("val_ratio", self.val_ratio, 0.01, 0.5)
        yield from _outside("test_ratio", self.test_ratio, 0.0, 0.5)
        yield from _outside("max_bad_ratio", self.max_bad_ratio, 0.0, 1.0)


class TextSection(msgspec.Struct, frozen=True, kw_only=True):
    """How DATA is read, batched and modelled where it is texts."""

    model: str = "tiny"
    """`tiny`, built in with random weights, or a local Hugging Face folder."""
    tokeniser: str = "auto"
    """`bytes`, a local Hugging Face folder, or `auto`: that of the model's folder, bytes for the built-in one."""
    context: int = 256
    """Tokens of a sequence; half of it takes about half of the activations' memory."""
    batching: Literal["auto", "packed", "bucketed"] = "auto"
    """Documents joined to full sequences, or each one beside others of its length; `auto` packs, but not prompts."""
    layers: int = 4
    width: int = 128
    heads: int = 4
    """Of the built-in model."""
    learning_rate: float = 0.0
    """Instead of that under [training]; 0 means 1e-3 for the built-in model, 5e-5 for a folder, 2e-4 for adapters."""
    lora_rank: int = 0
    """Rank of LoRA adapters on a Hugging Face model, whose own weights then stay as they are; 0 trains all of them."""
    lora_alpha: int = 0
    """Adapters are scaled by alpha / rank; 0 means twice the rank."""
    lora_dropout: float = 0.0
    field: str = "text"
    """Name of the text in a JSONL record."""
    val_ratio: float = 0.1
    test_ratio: float = 0.0
    """Shares of the documents held back when DATA is not split."""
    max_bad_ratio: float = 0.05
    """A run stops when more than this share of files and records is unusable."""
    val_tokens: int = 50_000
    """A validation asks for at most so many, evenly spaced: seconds beside the minutes of a trial."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        yield from _outside("context", self.context, 8, 1_048_576)
        yield from _outside("layers", self.layers, 1, 256)
        yield from _outside("width", self.width, 2, 65_536)
        yield from _outside("heads", self.heads, 1, 1024)
        if self.learning_rate != 0:
            yield from _outside("learning_rate", self.learning_rate, 1e-8, 10.0)
        yield from _outside("lora_rank", self.lora_rank, 0, 4096)
        yield from _outside("lora_alpha", self.lora_alpha, 0, 65_536)
        yield from _outside("lora_dropout", self.lora_dropout, 0.0, 0.9)
        yield from _outside("val_ratio", self.val_ratio, 0.001, 0.5)
        yield from _outside("test_ratio", self.test_ratio, 0.0, 0.5)
        yield from _outside("max_bad_ratio", self.max_bad_ratio, 0.0, 1.0)
        yield from _outside("val_tokens", self.val_tokens, 1, 1_000_000_000)
        if self.heads > 0 and self.width % (2 * self.heads):
            yield say(
                "width = {width}: must be a multiple of {step}, twice the heads", width=self.width, step=2 * self.heads
            )
        if not self.model or not self.tokeniser or not self.field:
            yield say("model, tokeniser and field must not be empty")


class TrainingSection(msgspec.Struct, frozen=True, kw_only=True):
    """The trials on a GPU. The guided experiment: 200 steps at batch 32, then 64 when VRAM allows."""

    steps: int = 200
    batch_size: int = 32
    larger_batch_size: int = 64
    learning_rate: float = 1e-3
    """Peak of a cosine schedule for AdamW, at `batch_size`."""
    weight_decay: float = 0.01
    warmup_steps: int = 10
    """Optimiser steps over which the learning rate rises to its peak."""
    seed: int = 0

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        yield from _outside("steps", self.steps, 1, 1_000_000)
        yield from _outside("batch_size", self.batch_size, 2, 65_536)
        yield from _outside("larger_batch_size", self.larger_batch_size, 2, 65_536)
        yield from _outside("learning_rate", self.learning_rate, 1e-8, 10.0)
        yield from _outside("weight_decay", self.weight_decay, 0.0, 1.0)
        yield from _outside("warmup_steps", self.warmup_steps, 0, 100_000)
        yield from _outside("seed", self.seed, 0, 2**31 - 1)


class CpuSection(msgspec.Struct, frozen=True, kw_only=True):
    """What runs instead where no GPU is usable: the same experiment at a size that ends in minutes."""

    steps: int = 60
    image_size: int = 128
    context: int = 128
    """Tokens of a sequence, where DATA is texts."""
    num_threads: int = 0
    """0 means all cores the process may use; the run folder records the number taken."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        yield from _outside("steps", self.steps, 1, 1_000_000)
        yield from _outside("image_size", self.image_size, 32, 1024)
        yield from _outside("context", self.context, 8, 1_048_576)
        yield from _outside("num_threads", self.num_threads, 0, 1024)


class LoaderSection(msgspec.Struct, frozen=True, kw_only=True):
    """How pictures reach the device."""

    num_threads: int = 0
    """Decode threads; 0 means one per core the process may use, at most 8."""
    cache: Literal["auto", "on", "off"] = "auto"
    """Decoded pictures kept on disk between epochs and runs: `auto` where it pays and they fit, `on` or an error."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        yield from _outside("num_threads", self.num_threads, 0, 256)


class AuditSection(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about the pictures before the trials."""

    sample: int = 2000
    """Pictures looked at, at most: seconds beside the minutes of a trial. 0 leaves the audit out."""
    labels: bool = True
    """Whether labels are judged by what a frozen network sees."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        yield from _outside("sample", self.sample, 0, 10_000_000)


class CeilingsSection(msgspec.Struct, frozen=True, kw_only=True):
    """How long is measured where `--ceilings` asks what bounds the speed."""

    seconds: float = 2.0
    """Of each stage, about."""
    lever_seconds: float = 4.0
    """Of each lever, about."""
    max_seconds: float = 120.0
    """Of all levers together."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        yield from _outside("seconds", self.seconds, 0.01, 3600)
        yield from _outside("lever_seconds", self.lever_seconds, 0.01, 3600)
        yield from _outside("max_seconds", self.max_seconds, 0, 86_400)


class CheckpointsSection(msgspec.Struct, frozen=True, kw_only=True):
    """When a trial is saved, so that an interrupted run goes on with `--resume`."""

    at_validation: bool = True
    """After each validation."""
    every_seconds: float = 300.0
    """At most this much training is lost. 0: time makes no checkpoint due."""
    every_steps: int = 0
    """0: steps make no checkpoint due."""

    def faults(self) -> Iterator[str]:
        """Every value outside its range, in words."""
        yield from _outside("every_seconds", self.every_seconds, 0, 86_400)
        yield from _outside("every_steps", self.every_steps, 0, 1_000_000)


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides how an experiment runs."""

    model: ModelSection = ModelSection()
    pictures: PicturesSection = PicturesSection()
    text: TextSection = TextSection()
    training: TrainingSection = TrainingSection()
    cpu: CpuSection = CpuSection()
    loader: LoaderSection = LoaderSection()
    audit: AuditSection = AuditSection()
    ceilings: CeilingsSection = CeilingsSection()
    checkpoints: CheckpointsSection = CheckpointsSection()
    knobs: KnobsSection = KnobsSection()

    def faults(self) -> Iterator[str]:
        """Every two values of different sections that do not go together, in words."""
        micro = self.training.batch_size // self.knobs.accumulation_steps
        if self.knobs.accumulation_steps > 1 and micro < SMALLEST_BATCH:
            yield say(
                "knobs.accumulation_steps = {steps}: a batch of {batch} would be taken {micro} at a time; at least "
                "{smallest}",
                steps=self.knobs.accumulation_steps,
                batch=self.training.batch_size,
                micro=micro,
                smallest=SMALLEST_BATCH,
            )


SECTIONS: dict[str, Any] = {
    "model": ModelSection,
    "pictures": PicturesSection,
    "text": TextSection,
    "training": TrainingSection,
    "cpu": CpuSection,
    "loader": LoaderSection,
    "audit": AuditSection,
    "ceilings": CeilingsSection,
    "checkpoints": CheckpointsSection,
    "knobs": KnobsSection,
}
