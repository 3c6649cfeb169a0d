"""What the embedded data set should be: how many pictures, and the faults to build into it on purpose."""

import msgspec

from rigwise.errors import BadInput
from rigwise.speech import say

CLASSES = ("accessories", "bags", "jackets", "shoes", "watches")
SPLIT_SHARES = {"train": 0.6, "val": 0.2, "test": 0.2}
MIN_PER_CLASS = 5
"""The fewest pictures of a class that put three into train and one each into val and test."""


class EmbeddedSet(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one embedded data set. The same settings make the same bytes (with the same Pillow)."""

    per_class: int = 200
    """Pictures of the largest class, over all splits."""
    seed: int = 0
    label_noise: float = 0.0
    """Share of the pictures of every split filed under a wrong class."""
    imbalance: float | dict[str, float] = 1.0
    """How many times larger the first class is than the last, each smaller than the one before by the same factor.

    Or shares of `per_class` by class, above 0 and at most 1; a class not named keeps all of it.
    """
    background_shortcut: float = 0.0
    """Share of the pictures whose background colour gives their class away."""
    shortcut_swapped_in: tuple[str, ...] = ()
    """Splits where the shortcut points to another class instead: the counterfactual."""

    def faults(self) -> list[str]:
        """Everything wrong with these settings, in words; empty when they can be used."""
        found = []
        if self.per_class < MIN_PER_CLASS:
            found.append(
                say("per_class is {given}; at least {least} are needed", given=self.per_class, least=MIN_PER_CLASS)
            )
        for name, share in (("label_noise", self.label_noise), ("background_shortcut", self.background_shortcut)):
            if not 0 <= share <= 1:
                found.append(say("{name} is {given}; it is a share from 0 to 1", name=name, given=share))
        found += self._imbalance_faults()
        found += [
            say(
                "shortcut_swapped_in names {given}; the splits are {splits}",
                given=split,
                splits=", ".join(SPLIT_SHARES),
            )
            for split in self.shortcut_swapped_in
            if split not in SPLIT_SHARES
        ]
        return found

    def _imbalance_faults(self) -> list[str]:
        if isinstance(self.imbalance, dict):
            return [
                say(
                    "imbalance gives {name} {given}; each of {classes} may have a share above 0 and at most 1",
                    name=name,
                    given=share,
                    classes=", ".join(CLASSES),
                )
                for name, share in self.imbalance.items()
                if name not in CLASSES or not 0 < share <= 1
            ]
        if not 1 <= self.imbalance < float("inf"):
            return [
                say(
                    "imbalance is {given}; it is how many times larger the first class is, 1 or more",
                    given=self.imbalance,
                )
            ]
        return []

    def check(self) -> None:
        """Nothing, or one error that names every fault.

        Raises:
            BadInput: some setting cannot be used.
        """
        if faults := self.faults():
            raise BadInput(
                say("cannot draw pictures with these settings"),
                "; ".join(faults),
                say("change the settings named above"),
            )

    def class_size(self, name: str) -> int:
        """Pictures of one class, over all splits."""
        if isinstance(self.imbalance, dict):
            share = self.imbalance.get(name, 1.0)
        else:
            share = self.imbalance ** (-CLASSES.index(name) / (len(CLASSES) - 1))
        return max(MIN_PER_CLASS, round(self.per_class * share))

    def split_sizes(self, name: str) -> dict[str, int]:
        """Pictures of one class in each split; train takes what rounding leaves."""
        total = self.class_size(name)
        held_out = {split: max(1, round(total * SPLIT_SHARES[split])) for split in ("val", "test")}
        return {"train": total - sum(held_out.values()), **held_out}
