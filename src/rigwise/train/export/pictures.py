"""The folder `RUN/model/` of a picture classifier: weights, program, labels, and the card that says how to use them."""

import platform
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256

import msgspec
import safetensors.torch
import timm
import torch
from torch import Tensor

from rigwise import __version__
from rigwise.records.exported import MODEL_SCHEMA, ModelCard, measured_accuracy
from rigwise.records.run import TrialResult
from rigwise.speech import say
from rigwise.train.batch.recognise import out_of_memory
from rigwise.train.export.folder import write_folder
from rigwise.train.export.model_folder import CARD, FOLDER, LABELS, PROGRAM, WEIGHTS, card_text
from rigwise.train.export.picture_classifier import PictureClassifier
from rigwise.train.export.program import CannotExport, exported, first_line
from rigwise.train.export.proof import MOST_PICTURES, NotEqual, prove
from rigwise.train.export.sureness import sureness
from rigwise.train.export.usage import USAGE
from rigwise.train.full_trial import Trained
from rigwise.train.network.model import BuiltModel
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.picture_set import Picture
from rigwise.train.step.device import CpuDevice, Device
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.one_batch import exact_products
from rigwise.train.step.scoring import Scores, score


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What came of exporting."""

    content: bytes = b""
    """Of its file; empty where there is none."""
    proof: str = ""
    why_not: str = ""


def trained_model(lab: PictureLab, chosen: Trained) -> BuiltModel:
    """The model as its trial left it, on the CPU."""
    built = lab.build()
    built.model.load_state_dict(chosen.weights)
    return built


def leave_model(lab: PictureLab, result: TrialResult, built: BuiltModel) -> ModelCard:
    """Write `RUN/model/` for the model of a trial; returns what its card says.

    Raises:
        CannotWrite: the folder cannot be written.
    """
    lab.progress.begin(say("exporting the recommended model"), None)
    try:
        program = _program(lab, PictureClassifier(built).eval())
        card, files = _card(lab, result, built, program)
    finally:
        lab.progress.end()
    next_step = say("free some space, then repeat: rigwise train --from {folder}", folder=lab.folder.path)
    write_folder(lab.folder.path / FOLDER, files | {CARD: card_text(card)}, next_step)
    return card


def _program(lab: PictureLab, classifier: PictureClassifier) -> Program:
    """The classifier exported and proved, or why there is no such program."""
    held_back = (lab.pictures.test or lab.pictures.val)[:MOST_PICTURES]
    with closing(lab.material.stream(held_back, len(held_back)).eval_batches()) as batches:
        images, _ = next(batches)
    try:
        content = exported(classifier, images.new_zeros((2, *images.shape[1:])))
        return Program(content=content, proof=prove(content, classifier, images))
    except (CannotExport, NotEqual, ValueError) as error:
        return Program(why_not=first_line(error))


def _card(
    lab: PictureLab, result: TrialResult, built: BuiltModel, program: Program
) -> tuple[ModelCard, dict[str, bytes]]:
    """model.json, and the files beside it."""
    labels = lab.pictures.classes
    files = {WEIGHTS: _weights(built), LABELS: "".join(f"{label}\n" for label in labels).encode()}
    files |= {PROGRAM: program.content} if program.content else {}
    val = _scored(lab, result, built, lab.pictures.val)
    test = _scored(lab, result, built, lab.pictures.test) if lab.pictures.test else None
    held_back = test or val
    card = ModelCard(
        labels=labels,
        image_size=lab.image_size,
        crop=say("the largest square in the middle"),
        interpolation=say("bilinear with antialiasing, on uint8"),
        mean=built.mean,
        std=built.std,
        takes=say("uint8 (N, 3, {size}, {size}), RGB from 0 to 255, upright; any N", size=lab.image_size),
        gives=say("fp32 (N, {classes}), the probability of each label", classes=len(labels)),
        network=built.name,
        weights=built.weights,
        run=lab.folder.name,
        trial=result.name,
        precision=result.precision,
        program=PROGRAM if program.content else "",
        why_no_program=program.why_not,
        proof=program.proof,
        accuracy=measured_accuracy("test" if test else "val", held_back.num_correct, len(held_back.labels)),
        sureness=sureness(val.truth_probabilities.tolist()),
        files={name: sha256(content).hexdigest() for name, content in files.items()},
        rigwise_version=__version__,
        versions={"python": platform.python_version(), "torch": str(torch.__version__), "timm": timm.__version__},
        usage=tuple(USAGE.splitlines()),
    )
    return card, files


def _weights(built: BuiltModel) -> bytes:
    """The state dict as safetensors, which can hold nothing but tensors."""
    contiguous = torch.contiguous_format  # and cloned: safetensors takes no tensors that share memory
    tensors = {name: value.clone(memory_format=contiguous) for name, value in built.model.state_dict().items()}
    return safetensors.torch.save(tensors, metadata={"format": "pt", "schema": MODEL_SCHEMA})


def _scored(lab: PictureLab, result: TrialResult, built: BuiltModel, pictures: Sequence[Picture]) -> Scores:
    """The model on a split, in fp32, where its trial ran; on the CPU where fp32 does not fit there."""
    batches = partial(lab.material.eval_batches, pictures, result.batch_size)
    if lab.device.name == result.device:
        try:
            return _scored_on(lab.device, built, batches())
        except (RuntimeError, MemoryError) as error:
            if out_of_memory(error) is None:
                raise
    return _scored_on(CpuDevice(), built, batches())


def _scored_on(device: Device, built: BuiltModel, batches: Iterable[tuple[Tensor, Tensor]]) -> Scores:
    """The model on these batches; it ends on the CPU."""
    built.model.to(device.torch_device)
    try:
        with device.using(), exact_products():
            return score(built.model, Normalise(built.mean, built.std), batches, device, "fp32")
    finally:
        built.model.to(CpuDevice.torch_device)
