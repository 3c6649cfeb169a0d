"""Whether something that is not the subject gives the class away: border colour, light, size, format, camera.

Each property alone predicts the label out of fold, and its balanced accuracy is set against chance: one over the
number of classes, whatever their sizes. A permutation test keeps small and unequal sets from raising alarms (cleanlab
2.9 takes the *index* of the largest class for its baseline and flags 7 of 7 properties of clean unequal data; its issue
860, pull request 1140). This is a screening test: a flagged property may be a fair cue, so a person is asked. Must not
import torch.

`N` pictures, `C` classes.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from rigwise.speech import say
from rigwise.train.audit.look import Look

Labels = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]

NUM_FOLDS = 5
MIN_PER_CLASS = NUM_FOLDS
"""A class with fewer pictures, copies counted once, cannot be in every fold; it is left out of the test."""
MAX_PROBED = 3000
"""Pictures tested at most: a balanced accuracy of five classes is then known within 2 points (95 %)."""
NUM_PERMUTATIONS = 2000
MAX_P_VALUE = 0.001
"""Six properties of a clean set raise one alarm in 170 sets at this level (Bonferroni)."""
MIN_EXCESS_RATIO = 0.2
"""Share of the way from chance to 1 that counts as giving the class away. Our choice: a border colour that tells the
class in every fourth picture reaches 0.26, clean sets at most 0.1 (benchmarks/audit_beside_others.py)."""
MAX_CATEGORIES = 20
"""Up to as many distinct values, a property is taken as categories: two picture sizes are two kinds, not a scale."""


class Property(msgspec.Struct, frozen=True, kw_only=True):
    """Something of a picture that should not tell its class."""

    name: str
    """For programs: `background_colour`."""
    words: str
    of: Callable[[Look], tuple[object, ...]]


def properties() -> tuple[Property, ...]:
    """What is tested, most harmful first."""
    return (
        Property(name="background_colour", words=say("the colour of the border"), of=lambda look: look.border),
        Property(name="brightness", words=say("the brightness"), of=lambda look: look.lightness),
        Property(name="size", words=say("the size in pixels"), of=lambda look: (float(look.width * look.height),)),
        Property(name="aspect", words=say("the aspect ratio"), of=lambda look: (look.width / look.height,)),
        Property(name="file_format", words=say("the file format"), of=lambda look: (look.file_format,)),
        Property(name="camera", words=say("the camera or program in EXIF"), of=lambda look: (look.camera,)),
    )


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """How well one property predicts the label."""

    asked: Property
    balanced_accuracy: float
    chance: float
    p_value: float
    telling: tuple[int, ...]
    """Places of the pictures whose class the property gave away, surest first."""

    @property
    def excess_ratio(self) -> float:
        """Share of the way from chance to 1."""
        return (self.balanced_accuracy - self.chance) / (1 - self.chance)

    @property
    def gives_class_away(self) -> bool:
        """Beyond chance, and by enough to matter."""
        return self.p_value <= MAX_P_VALUE and self.excess_ratio >= MIN_EXCESS_RATIO


def probe_shortcuts(looks: Sequence[Look], groups: Sequence[int], seed: int = 0) -> list[Tested]:
    """Every property that varies, tested; empty when fewer than two classes have enough pictures.

    `groups` says which pictures are copies of each other: they are kept on one side of each fold.
    """
    places = _testable(looks, groups, seed)
    if not places:
        return []
    names = sorted({looks[place].class_name for place in places})
    labels = np.array([names.index(looks[place].class_name) for place in places])
    folds = list(
        StratifiedGroupKFold(NUM_FOLDS, shuffle=True, random_state=seed).split(
            labels, labels, [groups[place] for place in places]
        )
    )
    tested = []
    for each in properties():
        values = [each.of(looks[place]) for place in places]
        if len(set(values)) > 1:
            tested.append(_tested(each, _encoded(values), labels, folds, places))
    return tested


def num_apart(names: Sequence[str], groups: Sequence[int]) -> Counter[str]:
    """How many pictures each class has that are no copies of each other.

    >>> num_apart(["a", "a", "a", "b"], [0, 0, 1, 2])
    Counter({'a': 2, 'b': 1})
    """
    return Counter(name for name, _group in set(zip(names, groups, strict=True)))


def _testable(looks: Sequence[Look], groups: Sequence[int], seed: int) -> list[int]:
    """Places of the pictures to test with, at most `MAX_PROBED` of them."""
    sizes = num_apart([look.class_name for look in looks], groups)
    enough = {name for name, count in sizes.items() if count >= MIN_PER_CLASS}
    places = [place for place, look in enumerate(looks) if look.class_name in enough]
    if len(enough) < 2:
        return []
    if len(places) <= MAX_PROBED:
        return places
    drawn = np.random.default_rng(seed).permutation(len(places))[:MAX_PROBED]
    kept = [places[index] for index in sorted(drawn)]
    left = num_apart([looks[place].class_name for place in kept], [groups[place] for place in kept])
    return [place for place in kept if left[looks[place].class_name] >= MIN_PER_CLASS]


def _encoded(values: Sequence[tuple[object, ...]]) -> Values:
    """`(N, F)`: categories as columns of 0 and 1, scales as they are with their squares and products."""
    if len(set(values)) <= MAX_CATEGORIES or isinstance(values[0][0], str):
        names = [str(value) for value in values]
        encoder = OneHotEncoder(max_categories=MAX_CATEGORIES, sparse_output=False)
        return np.asarray(encoder.fit_transform(np.array(names)[:, None]))
    scales = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler())
    return np.asarray(scales.fit_transform(np.array(values, dtype=np.float64)))


def _tested(
    of: Property, values: Values, labels: Labels, folds: list[tuple[Labels, Labels]], places: Sequence[int]
) -> Tested:
    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    probabilities = cross_val_predict(model, values, labels, cv=folds, method="predict_proba")
    predicted = probabilities.argmax(axis=1)
    given_away = np.nonzero(predicted == labels)[0]
    surest = given_away[np.argsort(-probabilities[given_away, labels[given_away]], kind="stable")]
    num_classes = probabilities.shape[1]
    accuracy = float(_balanced_accuracies(predicted, labels[None], num_classes)[0])
    return Tested(
        asked=of,
        balanced_accuracy=accuracy,
        chance=1 / num_classes,
        p_value=_p_value(predicted, labels, num_classes, accuracy),
        telling=tuple(places[index] for index in surest),
    )


def _p_value(predicted: Labels, labels: Labels, num_classes: int, reached: float) -> float:
    """How often labels dealt out anew fit the predictions as well.

    B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", SAGMB 9 (2010).
    """
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.broadcast_to(labels, (NUM_PERMUTATIONS, len(labels))), axis=1)
    as_good = int((_balanced_accuracies(predicted, shuffled, num_classes) >= reached).sum())
    return (as_good + 1) / (NUM_PERMUTATIONS + 1)


def _balanced_accuracies(predicted: Labels, labels: Labels, num_classes: int) -> Values:
    """Mean recall over the classes for each row of `labels` `(rows, N)`."""
    hits = labels == predicted
    ours = [labels == each for each in range(num_classes)]
    recalls = [(hits & mine).sum(axis=1) / np.maximum(1, mine.sum(axis=1)) for mine in ours]
    return np.asarray(np.mean(recalls, axis=0))
