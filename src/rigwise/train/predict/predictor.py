"""An exported model asked about pictures, with torch alone: no timm, and nothing of the run but its model folder."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import tee
from pathlib import Path

import torch
from torch import Tensor
from torch.export.passes import move_to_device_pass

from rigwise.errors import BadInput
from rigwise.records.exported import Answer, Guess, ModelCard
from rigwise.speech import printable, say
from rigwise.train.export.asking import Classifier, probabilities
from rigwise.train.export.model_folder import ExportedModel, open_model
from rigwise.train.export.program import first_line, loaded
from rigwise.train.machine import usable_cores
from rigwise.train.pictures.loader import chunks
from rigwise.train.predict.views import Picture, View, views
from rigwise.train.step.device import CpuDevice, Device, first_gpu

BATCH_SIZE = 32
"""As the guided experiment trains. Our choice; a batch that does not fit is taken in halves."""
DEVICES = ("auto", "cpu", "cuda")
GPU_TOLERANCE = 1e-3
"""Largest difference of a probability between CPU and GPU, both in fp32 without TF32: as in `rigwise smoke`."""


def predictor(run: Path | str, *, device: str = "auto", top: int = 1) -> "Predictor":
    """Answers from the model of a run folder or model folder, as in `for answer in rigwise.predictor(RUN)(paths)`.

    Args:
        run: the folder.
        device: `cpu`, `cuda`, or `auto`: the GPU where there is one and it gives what the CPU gives.
        top: how many of the most probable classes each answer names.

    Raises:
        BadInput: there is no such model, or it cannot be used here.
    """
    return predictor_of(open_model(Path(run)), device=device, top=top)


def predictor_of(model: ExportedModel, *, device: str = "auto", top: int = 1) -> "Predictor":
    """What answers for a model that was opened.

    Raises:
        BadInput: its program cannot be read by this torch, or there is no such device.
    """
    if device not in DEVICES:
        raise BadInput(
            say("no device {name}", name=device), say("known are {names}", names=", ".join(DEVICES)), say("use cpu")
        )
    gpu = None if device == "cpu" else first_gpu()
    if device == "cuda" and gpu is None:
        why = say("PyTorch {version} sees none", version=torch.__version__)
        raise _no_gpu(why)
    return Predictor(model, gpu, top=top, gpu_or_nothing=device == "cuda")


class Predictor:
    """Answers about pictures. Not for several threads at once.

    Attributes:
        card: what the model says of itself.
        notes: why the GPU is not used, or not any more, though there is one.
    """

    def __init__(self, model: ExportedModel, gpu: Device | None, *, top: int = 1, gpu_or_nothing: bool = False) -> None:
        self.card: ModelCard = model.card
        self.notes: list[str] = []
        self._model = model
        self._top = min(top, len(self.card.labels))
        self._on_cpu: Classifier = self._program(CpuDevice())
        self._classifier: Classifier = self._on_cpu
        self._device: Device = CpuDevice()
        self._unproved = gpu
        self._gpu_or_nothing = gpu_or_nothing

    @property
    def device(self) -> str:
        """Where it answers: `cpu`, `cuda:0`."""
        return self._device.name

    def __call__(self, pictures: Iterable[Picture]) -> Generator[Answer, None, None]:
        """An answer to each picture, in order: files, contents of files, or uint8 `(H, W, 3)` pixels.

        A picture that cannot be read gets an answer with `why_not` and no label.
        """
        given, decoded = tee(pictures)
        with closing(views(decoded, self.card.image_size, usable_cores())) as seen:
            for batch in chunks(zip(given, seen, strict=True), BATCH_SIZE):
                yield from self._answers(batch)

    def _answers(self, batch: list[tuple[Picture, View]]) -> Iterator[Answer]:
        images = [view.pixels for _, view in batch if view.pixels is not None]
        found = iter(self._ask(torch.stack(images)) if images else ())
        for picture, view in batch:
            path = printable(picture) if isinstance(picture, Path | str) else ""
            if view.pixels is None:
                yield Answer(path=path, label=None, probability=None, sure=None, why_not=view.why_not)
            else:
                yield self._answer(path, next(found))

    def _ask(self, images: Tensor) -> Tensor:
        """`(N, C)` probabilities; the first batch also proves the GPU."""
        if self._device.is_gpu:
            try:
                return probabilities(self._classifier, images, self._device)
            except RuntimeError as error:  # others may have taken its memory, or it may be lost
                self._refuse(self._device, first_line(error))
        answers = probabilities(self._on_cpu, images, CpuDevice())
        if self._unproved is not None:
            gpu, self._unproved = self._unproved, None
            self._move_to(gpu, images, answers)
        return answers

    def _move_to(self, gpu: Device, images: Tensor, expected: Tensor) -> None:
        """Go on there, when it gives what the CPU gives."""
        try:
            classifier = self._program(gpu)
            difference = float((probabilities(classifier, images, gpu) - expected).abs().max())
        except RuntimeError as error:
            self._refuse(gpu, first_line(error))
            return
        # Written so that NaN counts as a difference.
        if difference <= GPU_TOLERANCE:
            self._classifier, self._device = classifier, gpu
            return
        why = say(
            "its probabilities differ from the CPU's by {difference} (at most {tolerance})",
            difference=f"{difference:.2g}",
            tolerance=f"{GPU_TOLERANCE:g}",
        )
        self._refuse(gpu, why)

    def _refuse(self, gpu: Device, why: str) -> None:
        """Go on on the CPU, and say why."""
        if self._gpu_or_nothing:
            raise _no_gpu(say("{gpu}: {why}", gpu=gpu.name, why=why))
        self.notes.append(say("{gpu} is not used: {why}", gpu=gpu.name, why=why))
        self._classifier, self._device = self._on_cpu, CpuDevice()

    def _program(self, device: Device) -> Callable[[Tensor], Tensor]:
        """The program on a device.

        Raises:
            BadInput: this torch cannot read it.
        """
        try:
            program = loaded(self._model.program)
        except ValueError as error:
            made = self.card.versions.get("torch", "?")
            raise BadInput(
                say("torch {version} cannot read {file}", version=torch.__version__, file=self._model.folder),
                say("it was made by torch {made}: {why}", made=made, why=error),
                say("pip install torch=={made}", made=made.partition("+")[0]),
            ) from error
        return move_to_device_pass(program, device.torch_device).module()

    def _answer(self, path: str, row: Tensor) -> Answer:
        """In words what one row `(C,)` of probabilities says."""
        values, places = row.sort(descending=True, stable=True)
        guesses = [
            Guess(label=self.card.labels[place], probability=value)
            for place, value in zip(places.tolist(), values.tolist(), strict=True)
        ]
        threshold = self.card.sureness.threshold_ratio
        possible = tuple(guess.label for guess in guesses if threshold is not None and guess.probability >= threshold)
        return Answer(
            path=path,
            label=guesses[0].label,
            probability=guesses[0].probability,
            sure=None if threshold is None else len(possible) == 1,
            possible=possible,
            top=tuple(guesses[: self._top]),
        )


def _no_gpu(why: str) -> BadInput:
    return BadInput(say("no GPU to predict on"), why, say("rigwise smoke"))
