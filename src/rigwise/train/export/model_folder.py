"""The form of an exported model on the disk, and reading it back. No torch here: bad input is said at once."""

import os
from hashlib import sha256
from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.records.exported import MODEL_SCHEMA, PICTURES, ModelCard
from rigwise.speech import printable, say

FOLDER = "model"
"""In a run folder."""
CARD, WEIGHTS, PROGRAM, LABELS = "model.json", "weights.safetensors", "model.pt2", "labels.txt"
EARLIER_FILE = "model.pt"
"""What rigwise left before this form: weights alone."""
MOST_CARD_BYTES = 64 * 2**20
"""A label takes some 20 bytes; whatever is larger was named by mistake."""


class _Head(msgspec.Struct, frozen=True):
    """What every version of model.json says first."""

    schema: str
    kind: str = PICTURES


class ExportedModel(msgspec.Struct, frozen=True, kw_only=True):
    """An exported model of pictures, as it lies on the disk."""

    folder: Path
    card: ModelCard
    program: bytes
    """The content of the program's file, which is the one the card names."""


def card_text(card: ModelCard) -> bytes:
    """The content of model.json."""
    return msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n"


def open_model(place: Path) -> ExportedModel:
    """The exported model of a run folder, or in a model folder.

    Raises:
        BadInput: there is none, it is damaged, of another form or kind, or has no program.
    """
    folder = _folder(place)
    card = _card(folder / CARD)
    if not card.program:
        raise BadInput(
            say("the model in {folder} cannot be asked", folder=folder),
            say("it has no exported program: {why}", why=card.why_no_program),
            say("build {name} with timm and load {weights} into it", name=card.network, weights=folder / WEIGHTS),
        )
    return ExportedModel(folder=folder, card=card, program=_program(folder / card.program, card))


def _folder(place: Path) -> Path:
    """The folder that holds the card."""
    for folder in (place, place / FOLDER):
        if os.path.isfile(folder / CARD):
            return folder
    if os.path.isfile(place / EARLIER_FILE):
        why = say("an older rigwise made this run: {name} holds weights only", name=EARLIER_FILE)
        raise BadInput(_no_model(place), why, say("rigwise train --from {run}", run=place))
    if not os.path.lexists(place):
        why = say("the path does not exist")
    elif not os.path.isdir(place):
        why = say("it is a file; the folder it lies in may be one")
    else:
        why = say("there is no {name} in it: the run has not come that far, or recommends no trial", name=CARD)
    raise BadInput(_no_model(place), why, say("give the folder of a finished run of: rigwise train DATA"))


def _card(path: Path) -> ModelCard:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_CARD_BYTES + 1)
        head = msgspec.json.decode(content, type=_Head)
        if (head.schema, head.kind) != (MODEL_SCHEMA, PICTURES):
            raise _other_form(path, head)
        return msgspec.json.decode(content, type=ModelCard)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _damaged(path, getattr(error, "strerror", None) or str(error)) from error


def _other_form(path: Path, head: _Head) -> BadInput:
    return BadInput(
        say("{path} is not a model this rigwise can ask", path=path),
        say(
            "it is {schema}, kind {kind}; this rigwise knows {known}, kind {known_kind}",
            schema=printable(head.schema),
            kind=printable(head.kind),
            known=MODEL_SCHEMA,
            known_kind=PICTURES,
        ),
        say("pip install --upgrade rigwise"),
    )


def _program(path: Path, card: ModelCard) -> bytes:
    """The bytes of the program, whose hash is the card's."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from error
    found, known = sha256(content).hexdigest(), card.files.get(card.program)
    if found != known:
        raise BadInput(
            say("{path} is not the file that its run left", path=path),
            say("its SHA-256 is {found}, not {known}", found=found, known=known),
            say("copy the whole folder again from the run that made it"),
        )
    return content


def _damaged(path: Path, why: str) -> BadInput:
    return BadInput(
        say("cannot read {path}", path=path), why, say("copy the whole folder again from the run that made it")
    )


def _no_model(place: Path) -> str:
    return say("no exported model in {place}", place=place)
