"""Labels that may be wrong: confident learning over what a linear probe says of pictures it was not trained on.

C. Northcutt, L. Jiang and I. Chuang, "Confident learning: estimating uncertainty in dataset labels", JAIR 70 (2021).
Its rule is the two dozen lines below; cleanlab, which its authors keep, brings a data-set library with it
(benchmarks/audit_beside_others.py sets the two side by side). Must not import torch.

`N` pictures, `D` features, `C` classes.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rigwise.train.audit.shortcuts import num_apart

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

NUM_FOLDS = 5
MIN_PER_CLASS = NUM_FOLDS
"""A class with fewer pictures, copies counted once, cannot be in every fold: its labels are not judged."""
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
    sizes = num_apart(names, groups)
    places = [place for place, name in enumerate(names) if sizes[name] >= MIN_PER_CLASS]
    classes = sorted({names[place] for place in places})
    if len(classes) < 2:
        return None
    labels = np.array([classes.index(names[place]) for place in places])
    probabilities = out_of_fold(features[places], labels, [groups[place] for place in places])
    found = suspected(probabilities, labels)
    return Judged(
        places=tuple(places),
        accuracy=float((probabilities.argmax(axis=1) == labels).mean()),
        suspects=tuple((places[index], classes[suggested], probability) for index, suggested, probability in found),
    )


def out_of_fold(features: npt.NDArray[np.float32], labels: Labels, groups: Sequence[int]) -> Floats:
    """`(N, C)`: what a linear probe gives each class for pictures it was not trained on."""
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=REGULARISATION, max_iter=1000))
    folds = StratifiedGroupKFold(NUM_FOLDS, shuffle=True, random_state=0)
    return np.asarray(
        cross_val_predict(probe, features, labels, groups=groups, cv=folds, method="predict_proba"), dtype=np.float64
    )


def suspected(probabilities: Floats, labels: Labels) -> list[tuple[int, int, float]]:
    """(picture, suggested class, its probability) of each label that may be wrong, surest first.

    `probabilities` is `(N, C)`, out of fold. Of each pair of classes as many are taken as the joint says are wrong,
    those whose probability of the other class is furthest above that of their label (section 3.2 of the paper, "prune
    by noise rate").
    """
    num_wrong = np.rint(estimated_joint(probabilities, labels)).astype(int)
    np.fill_diagonal(num_wrong, 0)
    taken: set[int] = set()
    for given, true in np.argwhere(num_wrong):
        places = np.nonzero(labels == given)[0]
        margins = probabilities[places, true] - probabilities[places, given]
        taken.update(places[np.argsort(-margins, kind="stable")][: num_wrong[given, true]].tolist())
    suggested = probabilities.argmax(axis=1)
    found = [(index, int(suggested[index]), float(probabilities[index].max())) for index in sorted(taken)]
    return sorted((each for each in found if each[1] != labels[each[0]]), key=lambda each: -each[2])


def estimated_joint(probabilities: Floats, labels: Labels) -> Floats:
    """`(C, C)`: how many pictures labelled by row are of the class by column.

    A picture is confidently of a class when its probability reaches the mean that the class's own pictures have; of
    several such classes the most probable one counts. Rows are scaled to the number of labels (equations 1 to 3).
    """
    classes = range(probabilities.shape[1])
    thresholds = np.array([probabilities[labels == each, each].mean() for each in classes])
    confident = np.where(probabilities >= thresholds, probabilities, -1.0)
    sure = confident.max(axis=1) >= 0
    counts = np.zeros((len(thresholds), len(thresholds)))
    np.add.at(counts, (labels[sure], confident.argmax(axis=1)[sure]), 1)
    of_label = np.bincount(labels, minlength=len(thresholds))
    return np.asarray(counts / np.maximum(1, counts.sum(axis=1, keepdims=True)) * of_label[:, None])
