"""The embedded notes: the same each time, and no model foretells them better than their entropy."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rigwise.errors import CannotWrite
from rigwise.train.experiment import run_experiment
from rigwise.train.text.embedded import FILE_NAME, SLOTS, entropy_per_token, notes, write_notes
from rigwise.train.text.layout import is_text
from rigwise.train.text.tokeniser import ByteTokeniser
from rigwise.train.text_lab import TextLab
from rigwise.train.text_review import review_texts


def test_notes_are_the_same_for_the_same_seed_and_all_different() -> None:
    assert notes() == notes()
    assert notes(1) != notes()
    assert len(set(notes())) == len(notes())


def test_the_entropy_is_that_of_the_choices_counted_another_way() -> None:
    """Minus the log of the probability with which each note was drawn, over its bytes and its end."""
    drawn = notes()
    surprise = [
        math.log(1000) + math.log(9) + text.count(".") * sum(math.log(len(words)) for words in SLOTS) for text in drawn
    ]
    sizes = [len(text.encode()) + 1 for text in drawn]
    assert entropy_per_token() == pytest.approx(sum(surprise) / sum(sizes), rel=0.01)
    assert np.mean(sizes) > 300


def test_they_are_written_once(tmp_path: Path) -> None:
    folder = write_notes(tmp_path / "demo-text")
    assert is_text(folder)
    before = (folder / FILE_NAME).stat().st_mtime_ns
    assert write_notes(folder) == folder
    assert (folder / FILE_NAME).stat().st_mtime_ns == before
    write_notes(folder, seed=1)
    assert (folder / FILE_NAME).stat().st_mtime_ns != before
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite):
        write_notes(tmp_path / "file" / "below")


def test_training_gets_below_frequencies_and_not_below_the_entropy(
    make_text_lab: Callable[..., TextLab], tmp_path: Path
) -> None:
    root = write_notes(tmp_path / "notes")
    lab = make_text_lab(root=root, steps=150, batch_size=8, context=64, width=48, heads=4)
    chosen = run_experiment(lab).trained["cpu fp32"]
    review = review_texts(lab, chosen, ByteTokeniser())
    assert entropy_per_token() < review.loss < 0.95 * review.unigram_loss
    assert 2.8 < review.unigram_loss < 3.2
