"""The experiment on pictures: what its trials are made of."""

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial

import msgspec
from torch import Tensor, nn

from rigwise.train.lab import Lab
from rigwise.train.network.model import BuiltModel, build_model
from rigwise.train.pictures.cache.choice import PixelCache
from rigwise.train.pictures.loader import PictureStream
from rigwise.train.pictures.picture_ledger import picture_lines
from rigwise.train.pictures.picture_set import Picture, PictureSet
from rigwise.train.recipe_sections import Recipe
from rigwise.train.smoke import Smoke, smoke
from rigwise.train.step.device import Device
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.picture_loss import mean_loss
from rigwise.train.step.scoring import Scores, score
from rigwise.train.step.state import Batch, FreshInputs, TrialInputs


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


class PictureMaterial(msgspec.Struct, frozen=True, kw_only=True):
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

    def inputs(self, built: BuiltModel, batch_size: int, device: Device) -> TrialInputs:
        """What a trial of this model at this batch size works with."""
        normalise = Normalise(built.mean, built.std)
        held_back = self.pictures.test or self.pictures.val

        def scores_of(pictures: Sequence[Picture], model: nn.Module, precision: str) -> Scores:
            return score(model, normalise, self.eval_batches(pictures, batch_size), device, precision)

        return TrialInputs(
            model=built.model,
            loss=partial(mean_loss, normalise, device, label_smoothing=self.recipe.knobs.label_smoothing),
            train_batches=self.stream(self.pictures.train, batch_size).train_batches,
            validate=partial(scores_of, self.pictures.val),
            review=partial(scores_of, held_back),
        )

    def fresh_inputs(self, batch_size: int, device: Device) -> TrialInputs:
        """The same of a fresh model."""
        return self.inputs(self.build(), batch_size, device)

    def eval_batches(self, pictures: Sequence[Picture], batch_size: int) -> Iterable[tuple[Tensor, Tensor]]:
        """Every picture once, in order."""
        return self.stream(pictures, batch_size).eval_batches()


class PictureLab(Lab, frozen=True, kw_only=True):
    """One experiment on pictures."""

    pictures: PictureSet
    cache: PixelCache | None = None
    """Pictures kept decoded, if they are."""

    @property
    def fingerprint(self) -> dict[str, str]:
        """With every picture: its split, class, bytes and path."""
        _, _, rows = picture_lines(self.pictures).partition("\n")  # without the line that says where DATA lies
        return super().fingerprint | {"pictures": hashlib.sha256(rows.encode()).hexdigest()}

    @property
    def image_size(self) -> int:
        """Picture size of this experiment in pixels; smaller on the CPU."""
        return image_size(self.recipe, on_gpu=self.device.is_gpu)

    @property
    def gpu_image_size(self) -> int:
        """That of the rows a GPU would have filled."""
        return image_size(self.recipe, on_gpu=True)

    @property
    def material(self) -> PictureMaterial:
        """What its trials are made of."""
        return PictureMaterial(
            recipe=self.recipe,
            pictures=self.pictures,
            image_size=self.image_size,
            pinned=self.device.torch_device.type == "cuda",
            cache=self.cache,
        )

    def build(self) -> BuiltModel:
        """A fresh model, the same each time."""
        return self.material.build()

    def inputs(self, batch_size: int) -> TrialInputs:
        """A fresh model and its batches of pictures."""
        return self.material.fresh_inputs(batch_size, self.device)

    @property
    def inputs_elsewhere(self) -> FreshInputs:
        """The same inputs made in a process that has no GPU."""
        return msgspec.structs.replace(self.material, cache=None, pinned=False).fresh_inputs

    @property
    def loader_threads(self) -> int:
        """Decode threads."""
        return self.recipe.loader.num_threads

    def feed(self, batch_size: int, num_threads: int, num_steps: int) -> Iterable[Batch]:
        """The first batches of a trial, decoded by so many threads."""
        stream = self.material.stream(self.pictures.train, batch_size)
        stream.num_threads = num_threads
        return stream.train_batches(num_steps)

    def prove(self, batch_size: int, gpu: Device | None) -> Smoke:
        """The first training batch on the CPU and on the GPU, if there is one."""
        built = self.build()
        with closing(self.material.stream(self.pictures.train, batch_size).train_batches(1)) as batches:
            images, labels = next(batches)
        return smoke(built.model, Normalise(built.mean, built.std), images, labels, gpu, self.no_gpu)
