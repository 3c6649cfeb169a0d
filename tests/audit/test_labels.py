"""Wrong labels are found from features, and few right ones are suspected."""

import numpy as np
import pytest

from rigwise.train.audit.labels import estimated_joint, judge_labels, suspected

NUM_CLASSES, DIMENSIONS = 4, 64


def clusters(sizes: list[int], seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Features of overlapping clusters, and the name of each picture's cluster."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(sizes), DIMENSIONS)) * 0.7
    names = [f"class{label}" for label, size in enumerate(sizes) for _ in range(size)]
    features = np.concatenate(
        [rng.normal(centre, 1, (size, DIMENSIONS)) for centre, size in zip(centres, sizes, strict=True)]
    )
    return features.astype(np.float32), names


def mislabelled(names: list[str], share: float) -> tuple[list[str], set[int]]:
    rng = np.random.default_rng(1)
    wrong = set(rng.choice(len(names), round(share * len(names)), replace=False).tolist())
    classes = sorted(set(names))
    return [
        rng.choice([c for c in classes if c != name]) if i in wrong else name for i, name in enumerate(names)
    ], wrong


@pytest.mark.parametrize("sizes", [[80] * NUM_CLASSES, [200, 60, 30, 30]], ids=["equal", "unequal"])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_wrong_labels_are_found(sizes: list[int], share: float) -> None:
    features, names = clusters(sizes)
    given, wrong = mislabelled(names, share)
    judged = judge_labels(features, given, range(len(names)))
    assert judged is not None
    found = {place for place, *_ in judged.suspects}
    assert len(found & wrong) >= 0.75 * len(wrong)
    assert len(found & wrong) >= 0.95 * len(found)
    right = [suggested == names[place] for place, suggested, _ in judged.suspects if place in wrong]
    assert np.mean(right) > 0.95


def test_clean_labels_are_hardly_suspected() -> None:
    features, names = clusters([80] * NUM_CLASSES)
    judged = judge_labels(features, names, range(len(names)))
    assert judged is not None
    assert len(judged.suspects) <= 0.02 * len(names)


def test_small_classes_are_not_judged() -> None:
    features, names = clusters([40, 40, 4])
    judged = judge_labels(features, names, range(len(names)))
    assert judged is not None
    assert max(judged.places) < 80
    assert judge_labels(features[:44], names[:40] + ["class2"] * 4, range(44)) is None


def test_a_copy_on_the_other_side_does_not_vouch_for_a_wrong_label() -> None:
    """Twenty wrongly labelled pictures, each three times: spread over the folds they would confirm each other."""
    features, names = clusters([60, 60])
    features = np.concatenate([features, *(features[:20] for _ in range(2))])
    given = ["class1"] * 20 + names[20:] + ["class1"] * 40
    groups = [*range(120), *range(20), *range(20)]
    judged = judge_labels(features, given, groups)
    apart = judge_labels(features, given, range(len(given)))
    assert judged is not None
    assert apart is not None
    assert len(judged.suspects) > len(apart.suspects)


def test_the_joint_of_a_worked_example() -> None:
    """Thresholds 0.7 and 0.6; the third picture is labelled 0 and confidently of class 1."""
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.4, 0.6], [0.4, 0.6], [0.4, 0.6]])
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert estimated_joint(probabilities, labels).tolist() == [[2.0, 1.0], [0.0, 3.0]]
    assert suspected(probabilities, labels) == [(2, 1, 0.7)]


def test_a_class_of_copies_of_a_few_pictures_is_not_judged() -> None:
    features, names = clusters([60, 60, 60])
    assert judge_labels(features, names, [place // 30 for place in range(len(names))]) is None
