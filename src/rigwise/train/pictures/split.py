"""The rule that splits pictures into train, val and test, the same on every machine.

Works on groups: all pictures with the same decoded pixels are one group, so copies never end on both sides.
Each class orders its groups by SHA-256 of seed and pixels, which no file name and no other picture changes: adding
a picture to one class moves nothing in the others. Pure; knows no files.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from hashlib import sha256

Placement = dict[str, str]
"""Group to split."""


def split_groups(groups: Mapping[str, Collection[str]], *, seed: int, val_ratio: float, test_ratio: float) -> Placement:
    """Group to split, stratified: each class gives its share to val and test, at least one group to val and train.

    Args:
        groups: class to its groups, at least two each. A group in two classes goes where the smaller one puts it.
        seed: another seed gives another split.
        val_ratio: share of each class for validation, 0 to 1.
        test_ratio: share of each class kept for the test, 0 to 1.

    >>> split_groups({"bags": ["1", "2", "3"], "shoes": ["4", "5"]}, seed=0, val_ratio=0.15, test_ratio=0)
    {'4': 'val', '5': 'train', '3': 'val', '2': 'train', '1': 'train'}
    """
    placed: Placement = {}
    for label in sorted(groups, key=lambda label: (len(groups[label]), label)):
        order = sorted(groups[label], key=lambda group: sha256(f"{seed}:{group}".encode()).digest())
        taken = Counter(placed[group] for group in order if group in placed)
        still_free = [group for group in order if group not in placed]
        for split, wanted in split_sizes(len(order), val_ratio, test_ratio).items():
            missing = max(0, wanted - taken[split])
            placed.update(dict.fromkeys(still_free[:missing], split))
            still_free = still_free[missing:]
    return placed


def split_sizes(num_groups: int, val_ratio: float, test_ratio: float) -> dict[str, int]:
    """How many of a class's groups go where, in the order they are filled.

    >>> split_sizes(2, 0.15, 0.15), split_sizes(10, 0.15, 0.15)
    ({'val': 1, 'train': 1, 'test': 0}, {'val': 2, 'train': 6, 'test': 2})
    """
    val = min(max(1, _rounded(num_groups * val_ratio)), num_groups - 1)
    test = min(_rounded(num_groups * test_ratio), num_groups - 1 - val)
    return {"val": val, "train": num_groups - val - test, "test": test}


def _rounded(value: float) -> int:
    return int(value + 0.5)
