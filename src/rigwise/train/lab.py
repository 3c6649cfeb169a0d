"""What every trial of one experiment shares: recipe, pictures, devices, and where results go."""

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec
from torch import Tensor

from rigwise.records.run import TrialResult
from rigwise.telemetry.reading import read_samples
from rigwise.telemetry.run_folder import RunFolder
from rigwise.telemetry.summary import Summary, summarise
from rigwise.telemetry.writer import RunWriter
from rigwise.train.network.model import BuiltModel, build_model
from rigwise.train.pictures.cache.choice import PixelCache
from rigwise.train.pictures.loader import PictureStream
from rigwise.train.pictures.picture_set import Picture, PictureSet
from rigwise.train.progress import Progress
from rigwise.train.recipe_sections import Recipe
from rigwise.train.step.device import Device
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.trial import TrialInputs, TrialPlan


def recipe_model(recipe: Recipe, num_classes: int) -> BuiltModel:
    """The model a recipe asks for.

    Raises:
        BadInput: no such model, or no such weights.
        CannotTell: its pretrained weights cannot be had here.
    """
    return build_model(recipe.model.name, num_classes, weights=recipe.model.weights, seed=recipe.training.seed)


def image_size(recipe: Recipe, *, on_gpu: bool) -> int:
    """Picture size of the trials in pixels; smaller on the CPU."""
    return recipe.pictures.image_size if on_gpu else recipe.cpu.image_size


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial is made of; without its cache it can be sent to another process."""

    recipe: Recipe
    pictures: PictureSet
    image_size: int
    pinned: bool
    """Whether batches lie in page-locked memory, for a GPU."""
    cache: PixelCache | None = None
    """Pictures kept decoded, if they are; never sent, since batches are the same without."""

    def build(self) -> BuiltModel:
        """A fresh model, the same each time."""
        return recipe_model(self.recipe, len(self.pictures.classes))

    def stream(self, pictures: Sequence[Picture], batch_size: int) -> PictureStream:
        """Batches of these pictures, the same for the same recipe, with a cache or without."""
        cache = self.cache if self.cache and self.cache.image_size == self.image_size else None
        return PictureStream(
            pictures,
            self.pictures.root,
            image_size=self.image_size,
            seed=self.recipe.training.seed,
            batch_size=batch_size,
            num_threads=self.recipe.loader.num_threads,
            pixels_of=cache.pixels if cache else None,
            pinned=self.pinned,
        )

    def inputs(self, built: BuiltModel, batch_size: int) -> TrialInputs:
        """What a trial at this batch size works with."""
        return TrialInputs(
            model=built.model,
            normalise=Normalise(built.mean, built.std),
            train_batches=self.stream(self.pictures.train, batch_size).train_batches,
            val_batches=partial(self.eval_batches, self.pictures.val, batch_size),
        )

    def eval_batches(self, pictures: Sequence[Picture], batch_size: int) -> Iterable[tuple[Tensor, Tensor]]:
        """Every picture once, in order."""
        return self.stream(pictures, batch_size).eval_batches()


class Lab(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment's fixed conditions."""

    recipe: Recipe
    """With every `0 means` value resolved."""
    pictures: PictureSet
    device: Device
    """Where the trials run: the GPU, or the CPU when no GPU is usable."""
    no_gpu: str
    """Why no GPU is used, in words; "" when one is."""
    writer: RunWriter
    progress: Progress
    folder: RunFolder
    cache: PixelCache | None = None
    """Pictures kept decoded, if they are."""

    @property
    def image_size(self) -> int:
        """Picture size of this experiment in pixels; smaller on the CPU."""
        return image_size(self.recipe, on_gpu=self.device.is_gpu)

    @property
    def steps(self) -> int:
        """Steps of each full trial."""
        return self.recipe.training.steps if self.device.is_gpu else self.recipe.cpu.steps

    @property
    def material(self) -> Material:
        """What its trials are made of."""
        return Material(
            recipe=self.recipe,
            pictures=self.pictures,
            image_size=self.image_size,
            pinned=self.device.torch_device.type == "cuda",
            cache=self.cache,
        )

    def build(self) -> BuiltModel:
        """A fresh model, the same each time."""
        return self.material.build()

    def plan(self, name: str, precision: str, batch_size: int) -> TrialPlan:
        """A full trial of this experiment."""
        training = self.recipe.training
        return TrialPlan(
            name=name,
            precision=precision,
            batch_size=batch_size,
            image_size=self.image_size,
            steps=self.steps,
            learning_rate=training.learning_rate,
            weight_decay=training.weight_decay,
            warmup_steps=training.warmup_steps,
            seed=training.seed,
        )

    def gpu_during(self, start_seconds: float, end_seconds: float) -> dict[str, Summary]:
        """Metric name -> what the trial's GPU showed between two moments of the run; empty on the CPU."""
        if not self.device.is_gpu:
            return {}
        self.writer.flush()
        samples = read_samples(self.folder.database, start_seconds, end_seconds)
        return summarise(samples, start_seconds, end_seconds, target=self.device.uuid)

    def keep(self, result: TrialResult) -> TrialResult:
        """Record a finished row of the comparison."""
        self.writer.record(result)
        return result
