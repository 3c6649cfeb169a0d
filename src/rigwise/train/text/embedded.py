"""Notes written by our own code, for demonstrations and measurements: a text whose entropy is known exactly.

Every choice is uniform and independent, so no model can foretell them better than `entropy_per_token` on average: a
lower validation loss means that what is validated was seen. They are no measure of how well a model does on language.
"""

import json
import math
from itertools import chain
from pathlib import Path
from statistics import fmean

import numpy as np

from rigwise.errors import CannotWrite
from rigwise.speech import say
from rigwise.telemetry.run_folder import write_text

NUM_NOTES = 2000
FILE_NAME = "notes.jsonl"
NUM_NUMBERS = 1000
"""Notes are numbered with three digits, at random."""
FEWEST_SENTENCES, MOST_SENTENCES = 4, 12

SLOTS = (
    ("The first", "The second", "The third", "The last", "Every other", "No other", "A borrowed", "One more"),
    ("quiet", "warm", "dusty", "spare", "loud", "narrow", "shared", "patient"),
    ("card", "cable", "fan", "driver", "kernel", "loader", "switch", "sensor"),
    ("waits for", "answers", "follows", "outlasts", "warms", "slows", "replaces", "watches"),
    ("the slot", "the queue", "the batch", "the night shift", "the rack", "the clock", "the bus", "the door"),
    ("today", "at noon", "again", "on Friday", "without a word", "by itself", "in winter", "twice"),
)
"""A sentence takes one of each, in this order."""


def note(chance: np.random.Generator) -> str:
    """One note: a number, then sentences."""
    lines = [f"Note {chance.integers(NUM_NUMBERS):03}"]
    for _ in range(chance.integers(FEWEST_SENTENCES, MOST_SENTENCES + 1)):
        lines.append(" ".join(words[chance.integers(len(words))] for words in SLOTS) + ".")
    return "\n".join(lines) + "\n"


def notes(seed: int = 0) -> list[str]:
    """All notes, the same for the same seed."""
    chance = np.random.default_rng(seed)
    return [note(chance) for _ in range(NUM_NOTES)]


def entropy_per_token() -> float:
    """Nats a byte of a note and its end hold on average: the lowest loss there is, but for what was seen before."""
    mean_sentences = (FEWEST_SENTENCES + MOST_SENTENCES) / 2
    choices = math.log(NUM_NUMBERS) + math.log(MOST_SENTENCES - FEWEST_SENTENCES + 1)
    choices += mean_sentences * sum(math.log(len(words)) for words in SLOTS)
    sentence_bytes = sum(fmean(map(len, words)) for words in SLOTS) + len(SLOTS) + 1
    title_bytes, end = len("Note 000\n"), 1
    return choices / (title_bytes + mean_sentences * sentence_bytes + end)


def write_notes(folder: Path, seed: int = 0) -> Path:
    """The folder, with the notes in it as JSONL; left as it is where they are there already.

    Raises:
        CannotWrite: the folder cannot be written.
    """
    lines = "".join(chain.from_iterable((json.dumps({"text": text}), "\n") for text in notes(seed)))
    path = folder / FILE_NAME
    try:
        if path.is_file() and path.read_text("utf-8", "replace") == lines:
            return folder
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(
            say("cannot write {path}", path=path),
            error.strerror or str(error),
            say("name another folder: rigwise demo --text --pictures DIR"),
        ) from error
    write_text(path, lines)
    return folder
