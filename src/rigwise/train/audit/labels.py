"""Labels that may be wrong: confident learning over what a linear probe says of pictures it was not trained on.

C. Northcutt, L. Jiang and I. Chuang, "Confident learning: estimating uncertainty in dataset labels", JAIR 70 (2021).
Its rule is the dozen lines of `suspected`; cleanlab, which its authors keep, brings a data-set library with it
(benchmarks/audit.py sets the two side by side). Must not import torch.

`N` pictures, `D` features, `C` classes.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

NUM_FOLDS = 5
MIN_PER_CLASS = NUM_FOLDS
"""A class with fewer pictures cannot be in every fold: its labels are not judged."""
REGULARISATION = 0.01
"""Inverse strength; 0.01 to 1 give accuracies within one point of each other (benchmarks/linear_probe.py)."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What the probe says of the labels it could judge."""

    places: tuple[int, ...]
    """Of the pictures judged."""
    accuracy: float
    """Share of them whose label the probe predicts, out of fold."""
    suspects: tuple[tuple[int, str, float], ...]
    """Place, suggested class, and its probability, surest first."""


def judge_labels(features: npt.NDArray[np.float32], names: Sequence[str], groups: Sequence[int]) -> Judged | None:
    """Suspicions about the labels `names`, from features `(N, D)`; None for fewer than two classes of enough pictures.

    `groups` says which pictures are copies of each other: they are kept on one side of each fold.
    """
    sizes = Counter(names)
    places = [place for place, name in enumerate(names) if sizes[name] >= MIN_PER_CLASS]
    classes = sorted({names[place] for place in places})
    if len(classes) < 2:
        return None
    labels = np.array([classes.index(names[place]) for place in places])
    folds = StratifiedGroupKFold(NUM_FOLDS, shuffle=True, random_state=0)
    probabilities = cross_val_predict(
        make_pipeline(StandardScaler(), LogisticRegression(C=REGULARISATION, max_iter=1000)),
        features[places],
        labels,
        groups=[groups[place] for place in places],
        cv=folds,
        method="predict_proba",
    )
    found = suspected(probabilities, labels)
    return Judged(
        places=tuple(places),
        accuracy=float((probabilities.argmax(axis=1) == labels).mean()),
        suspects=tuple((places[index], classes[suggested], probability) for index, suggested, probability in found),
    )


def suspected(probabilities: Floats, labels: Labels) -> list[tuple[int, int, float]]:
    """(picture, suggested class, its probability) of each label off the confident joint's diagonal, surest first.

    `probabilities` is `(N, C)`, out of fold. A picture is confidently of a class when its probability reaches the mean
    that the class's own pictures have; of several such classes the most probable one is taken (the paper's equations 1
    and 2).
    """
    own = [probabilities[labels == each, each] for each in range(probabilities.shape[1])]
    thresholds = np.array([values.mean() if len(values) else 1.0 for values in own])
    confident = np.where(probabilities >= thresholds, probabilities, -1.0)
    suggested, probability = confident.argmax(axis=1), confident.max(axis=1)
    off_diagonal = np.nonzero((probability >= 0) & (suggested != labels))[0]
    ordered = off_diagonal[np.argsort(-probability[off_diagonal], kind="stable")]
    return [(int(index), int(suggested[index]), float(probability[index])) for index in ordered]
