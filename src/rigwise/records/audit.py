"""What `rigwise audit` finds in a folder of pictures. Everything here is a suspicion: a person decides."""

import msgspec

from rigwise.records.bad_picture import BadPicture

AUDIT_SCHEMA = "rigwise.audit/1"
COPY, LABEL, ODD = "copy", "label", "odd"


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One picture as an example."""

    path: str
    """Relative to DATA, printable."""
    class_name: str
    thumbnail: str
    """data: URI of a small JPEG; "" in `--json`."""


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """One picture that a person should look at, and why."""

    kind: str
    """`copy` of another picture, `label` that may be wrong, `odd` picture."""
    path: str
    """Relative to DATA, printable."""
    split: str
    class_name: str
    """What it is labelled."""
    sha256: str
    """Of the file, so that an answer is not applied to another picture later."""
    because: str
    other: Shown | None = None
    """The picture it is a copy of, or one of the suggested class."""
    suggested_class: str = ""
    """Of `label`: what it looks like."""
    score: float
    """0 to 1, surest first within a kind: likeness of a copy, probability of the suggested class, 1 for odd."""
    thumbnail: str = ""
    """data: URI of a small JPEG; "" in `--json`."""


class Shortcut(msgspec.Struct, frozen=True, kw_only=True):
    """How well a property that is not the subject predicts the class by itself."""

    name: str
    """`background_colour`, `brightness`, `size`, `aspect`, `file_format` or `camera`."""
    words: str
    balanced_accuracy_ratio: float
    """Out of fold, 0 to 1."""
    chance_ratio: float
    """One over the number of classes tested."""
    p_value: float
    """How often labels dealt out anew were predicted as well."""
    gives_class_away: bool
    """Beyond chance and by enough to matter; may still be a fair cue."""
    examples: tuple[Shown, ...] = ()


class LabelCheck(msgspec.Struct, frozen=True, kw_only=True):
    """How the labels were judged."""

    why_not: str = ""
    """Why they were not judged; "" when they were."""
    num_judged: int = 0
    out_of_fold_accuracy_ratio: float | None = None
    """Of a linear probe on frozen features; the lower, the less its suspicions are worth."""
    seconds: float = 0.0


class Counterfactual(msgspec.Struct, frozen=True, kw_only=True):
    """The trained model's accuracy when each picture gets the background of another one."""

    trial: str
    num_pictures: int
    """Pictures whose background could be told from the subject."""
    num_skipped: int
    as_they_are: int
    """Right answers on these pictures, unchanged."""
    same_class: int
    """Right answers with backgrounds of pictures of the same class: what the editing itself costs."""
    other_class: int
    """Right answers with backgrounds of pictures of another class."""
    followed: int
    """Answers that named the class the background came from, in the last case."""
    leans_on_background: bool
    """Whether the loss from same to other class is beyond its 95 % interval."""
    because: str


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise audit --json` prints."""

    schema: str = AUDIT_SCHEMA
    root: str
    needs_a_human: bool
    """Whether anything below is suspicious."""
    classes: tuple[str, ...]
    counts: dict[str, dict[str, int]]
    """split -> class -> number of picture files."""
    num_files: int
    """Picture files found."""
    num_looked_at: int
    """Usable pictures looked at: all, or those of a sample."""
    images_per_second: float
    bad: tuple[BadPicture, ...]
    """Files that are no usable pictures."""
    notes: tuple[str, ...]
    """Imbalance, and what the audit could not see."""
    suspects: tuple[Suspect, ...]
    shortcuts: tuple[Shortcut, ...]
    """Every property that was tested, also those that are fine."""
    labels: LabelCheck
    counterfactual: Counterfactual | None = None
    left_out: tuple[str, ...] = ()
    """Pictures left out because a person said so, printable."""
