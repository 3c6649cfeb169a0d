"""Swapped backgrounds: what is told from the subject, what is passed over, and that a swap equals the generator's."""

import csv
from pathlib import Path

import numpy as np
import pytest
from audit.audited_sets import scene
from PIL import Image

from rigwise.train.audit.backgrounds import background_of, donors, with_background
from rigwise.train.audit.light import lab
from rigwise.train.embedded import EmbeddedSet, make_pictures

SIDE = 128


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[np.ndarray, np.ndarray]]:
    """The generator's pictures with the background colour of their class, each beside itself with the next class's."""
    root = tmp_path_factory.mktemp("twins")
    wanted = {"per_class": 6, "background_shortcut": 1.0}
    usual = make_pictures(root / "usual", EmbeddedSet(**wanted))
    swapped = make_pictures(root / "swapped", EmbeddedSet(**wanted, shortcut_swapped_in=("train",)))
    with (usual / "truth.csv").open(newline="") as file:
        paths = [row["path"] for row in csv.DictReader(file) if row["path"].startswith("train")]
    return [(opened(usual / path), opened(swapped / path)) for path in paths]


def opened(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB").resize((SIDE, SIDE)))


def test_a_swap_equals_the_generator_s_own(twins: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Mean CIE76 difference: below 5 for half of the pictures, 8 for nine of ten, where the two are 20 apart."""
    errors, apart = [], []
    for usual, swapped in twins:
        own, other = background_of(usual), background_of(swapped)
        assert own is not None
        assert other is not None
        made = lab(with_background(usual, own, other))
        errors.append(np.linalg.norm(made - lab(swapped), axis=-1).mean())
        apart.append(np.linalg.norm(lab(usual) - lab(swapped), axis=-1).mean())
    assert np.percentile(errors, 90) < 8
    assert np.median(errors) < 5
    assert np.median(apart) > 20


def test_the_subject_stays(twins: list[tuple[np.ndarray, np.ndarray]]) -> None:
    shares = []
    for usual, swapped in twins:
        own, other = background_of(usual), background_of(swapped)
        assert own is not None
        assert other is not None
        subject = own.weight[..., 0] == 0
        assert (with_background(usual, own, other)[subject] == usual[subject]).all()
        shares.append(subject.mean())
    assert 0.1 < np.median(shares) < 0.6


def test_what_cannot_be_told_apart_is_passed_over() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    assert background_of(noise) is None
    assert background_of(np.full((SIDE, SIDE, 3), 200, dtype=np.uint8)) is None
    halves = np.asarray(Image.new("RGB", (SIDE, SIDE), "red")).copy()
    halves[:, SIDE // 2 :] = (0, 0, 255)
    assert background_of(halves) is None


def test_a_plain_background_is_all_that_is_exchanged() -> None:
    picture = np.asarray(scene("plain", background=(90, 120, 90), size=SIDE))
    other = np.asarray(scene("other", background=(200, 80, 80), size=SIDE))
    own, donor = background_of(picture), background_of(other)
    assert own is not None
    assert donor is not None
    assert tuple(with_background(picture, own, donor)[2, 2]) == pytest.approx((200, 80, 80), abs=2)


@pytest.mark.parametrize("same_class", [True, False])
def test_donors_are_of_the_class_asked_for(same_class: bool) -> None:
    labels = np.array([0] * 30 + [1] * 5 + [2] * 5)
    places = list(donors(labels, same_class=same_class, seed=0))
    assert all((labels[place] == label) == same_class for place, label in zip(places, labels, strict=True))
    assert all(place != number for number, place in enumerate(places))
    assert list(donors(np.array([0, 1]), same_class=True, seed=0)) == [0, 1]
