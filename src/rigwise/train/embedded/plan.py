"""What every picture of a set will be, before anything is drawn: its class, label, background hint and seed."""

from collections.abc import Iterator
from random import Random

import msgspec

from rigwise.train.embedded.settings import CLASSES, SPLIT_SHARES, EmbeddedSet


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One picture before it is drawn, and the faults built into it."""

    path: str
    """Relative to DATA; the number is unique in its split, whatever the label."""
    true_class: str
    labelled_class: str
    background_class: str
    """The class its background colour points to; "" where the background says nothing."""
    seed: str
    """What its random numbers start from; nothing else decides the drawing."""


def plan(wanted: EmbeddedSet) -> list[Planned]:
    """Every picture of the set, in the order of its path."""
    planned = [picture for split in SPLIT_SHARES for picture in _plan_split(wanted, split)]
    return sorted(planned, key=lambda picture: picture.path)


def _plan_split(wanted: EmbeddedSet, split: str) -> Iterator[Planned]:
    pictures = [(name, index) for name in CLASSES for index in range(wanted.split_sizes(name)[split])]
    mislabelled = _chosen(pictures, wanted.label_noise, f"{wanted.seed}/{split}/label")
    telling = _chosen(pictures, wanted.background_shortcut, f"{wanted.seed}/{split}/shortcut")
    for name, index in pictures:
        seed = f"{wanted.seed}/{split}/{name}/{index}"
        label = _another_class(name, seed) if (name, index) in mislabelled else name
        hint = _next_class(name) if split in wanted.shortcut_swapped_in else name
        yield Planned(
            path=f"{split}/{label}/{index * len(CLASSES) + CLASSES.index(name):04d}.jpg",
            true_class=name,
            labelled_class=label,
            background_class=hint if (name, index) in telling else "",
            seed=seed,
        )


def _chosen(pictures: list[tuple[str, int]], share: float, seed: str) -> set[tuple[str, int]]:
    """Exactly that share of the pictures, rounded."""
    return set(Random(seed).sample(pictures, round(share * len(pictures))))


def _another_class(name: str, seed: str) -> str:
    return Random(f"{seed}/label").choice([other for other in CLASSES if other != name])


def _next_class(name: str) -> str:
    return CLASSES[(CLASSES.index(name) + 1) % len(CLASSES)]
