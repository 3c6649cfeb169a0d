"""The same picture more than once: copies byte for byte, and copies that were resized, re-encoded, cropped or mirrored.

Hashes of 64 bits take pictures on equal backgrounds for copies (deepchecks issue 1243: digits, pistachios), and miss
cropped ones. So a coarse comparison only proposes pairs; a pair counts when one picture, laid over the other, shows the
same in every block. Another picture of the same subject does not. Pure numpy.

`N` pictures, `V` crops and mirrorings tried of each, `F` numbers of a coarse description.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from rigwise.train.audit.alignment import MIN_SPREAD, aligned, halved, likeness
from rigwise.train.audit.look import Look

Floats = npt.NDArray[np.float32]

CROPPED_TO = 0.85
"""Side of the crops tried first, in nine places; the alignment finds crops from 0.75 to 1 from there."""
_STARTS = (0, (1 - CROPPED_TO) / 2, 1 - CROPPED_TO)
FIRST_CROPS: Floats = np.array(
    [(0, 0, 1, 1), *((top, left, top + CROPPED_TO, left + CROPPED_TO) for top in _STARTS for left in _STARTS)],
    dtype=np.float32,
)
COARSE_PX = 8
MIN_COARSE_LIKENESS = 0.8
"""Cosine from which a pair is laid over each other. Our choice: 80 cropped copies of drawn pictures all lay above."""
NUM_PROPOSED = 4
"""Pairs that one picture proposes; more copies than that are found through each other."""
MIN_LIKENESS = 0.988
MAX_BLOCK_DIFFERENCE = 0.5
"""Correlation and largest block difference of a copy, `alignment.likeness`. Our choice, from drawn pictures and emoji:
copies that were encoded again, halved or cropped by a tenth mostly reach 0.99; different pictures at most 0.93, one
subject in a flat and a modelled style 0.982."""
NUM_ROUGH, NUM_FINE = 10, 8
"""Steps of the alignment at 16 and at 32 pixels; the edges hardly move after as many. Our choice."""
MIN_ROUGH_LIKENESS = 0.85
NUM_AT_ONCE = 64

Proposal = tuple[int, int, bool, int]
"""Picture to crop, picture it may equal, mirrored, which first crop."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two pictures, by their place in the sequence, that show the same."""

    first: int
    second: int
    exact: bool
    """Equal to the last byte."""
    likeness: float
    """Correlation after alignment, up to 1."""


def find_copies(looks: Sequence[Look]) -> list[Pair]:
    """Every pair of copies, exact ones first found by hash; pairs of one group may be left out when others join it."""
    exact = list(_exact(looks))
    repeated = {pair.second for pair in exact}
    single = [place for place in range(len(looks)) if place not in repeated]
    near = _near(np.stack([looks[place].thumbnail for place in single]).astype(np.float32)) if len(single) > 1 else []
    return exact + [
        Pair(first=single[one], second=single[other], exact=False, likeness=alike) for one, other, alike in near
    ]


def _exact(looks: Sequence[Look]) -> Iterator[Pair]:
    first_with: dict[str, int] = {}
    for place, look in enumerate(looks):
        first = first_with.setdefault(look.sha256, place)
        if first != place:
            yield Pair(first=first, second=place, exact=True, likeness=1.0)


def _near(thumbnails: Floats) -> list[tuple[int, int, float]]:
    """(place, place, likeness) of every pair that shows the same."""
    shows_something = thumbnails.std(axis=(1, 2, 3)) >= MIN_SPREAD
    proposed = [pair for pair in _proposed(thumbnails) if shows_something[pair[0]] and shows_something[pair[1]]]
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(proposed), NUM_AT_ONCE):
        for one, other, alike in _confirmed(thumbnails, proposed[start : start + NUM_AT_ONCE]):
            key = (min(one, other), max(one, other))
            found[key] = max(found.get(key, 0.0), alike)
    return [(*key, alike) for key, alike in sorted(found.items())]


def _confirmed(thumbnails: Floats, proposed: Sequence[Proposal]) -> Iterator[tuple[int, int, float]]:
    """(place, place, likeness) of the pairs that show the same once aligned: roughly first, then those near it."""
    whole = np.stack([thumbnails[one, :, ::-1] if mirrored else thumbnails[one] for one, _, mirrored, _ in proposed])
    other = thumbnails[[pair[1] for pair in proposed]]
    small = halved(whole), halved(other)
    crops = aligned(halved(small[0]), halved(small[1]), FIRST_CROPS[[pair[3] for pair in proposed]], NUM_ROUGH)
    near = np.nonzero(likeness(*small, crops)[0] >= MIN_ROUGH_LIKENESS)[0]
    if not len(near):
        return
    crops = aligned(small[0][near], small[1][near], crops[near], NUM_FINE)
    for place, alike, differs in zip(near.tolist(), *likeness(whole[near], other[near], crops), strict=True):
        if alike >= MIN_LIKENESS and differs <= MAX_BLOCK_DIFFERENCE:
            yield *proposed[place][:2], float(alike)


def _proposed(thumbnails: Floats) -> Iterator[Proposal]:
    """Every pair worth a closer look."""
    described = _described(thumbnails)
    num_crops = len(FIRST_CROPS)
    for start in range(0, len(thumbnails), NUM_AT_ONCE):
        part = thumbnails[start : start + NUM_AT_ONCE]
        variants = np.stack([_described(_cut(view, crop)) for view in (part, part[:, :, ::-1]) for crop in FIRST_CROPS])
        cosines = variants @ described.T  # (V, part of N, N)
        best = cosines.argmax(axis=0)
        highest = np.take_along_axis(cosines, best[None], axis=0)[0]
        highest[np.arange(len(part)), start + np.arange(len(part))] = -1
        nearest = np.argsort(-highest, axis=1)[:, :NUM_PROPOSED]
        near = np.take_along_axis(highest, nearest, axis=1) >= MIN_COARSE_LIKENESS
        for row, column in np.argwhere(near):
            other = int(nearest[row, column])
            mirrored, crop = divmod(int(best[row, other]), num_crops)
            yield start + int(row), other, bool(mirrored), crop


def _cut(pictures: Floats, crop: Floats) -> Floats:
    """That part of each picture, to the nearest pixel."""
    side = pictures.shape[1]
    top, left, bottom, right = np.rint(crop * side).astype(int)
    return pictures[:, top:bottom, left:right]


def _described(pictures: Floats) -> Floats:
    """`(N, F)`: each picture at 8 x 8, without its mean, of length 1; so that a product is a correlation."""
    edges = [np.linspace(0, length, COARSE_PX + 1).astype(int)[:-1] for length in pictures.shape[1:3]]
    sums = np.add.reduceat(np.add.reduceat(pictures, edges[0], axis=1), edges[1], axis=2)
    areas = np.outer(*(np.diff([*edge, length]) for edge, length in zip(edges, pictures.shape[1:3], strict=True)))
    flat = (sums / areas[None, :, :, None]).reshape(len(pictures), -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    scaled: Floats = (flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), MIN_SPREAD)).astype(np.float32)
    return scaled
