"""The whole audit: look at each picture once, then ask what is the same, odd, wrongly labelled, or a shortcut.

Imports torch only when labels are to be judged.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path

from rigwise.errors import CannotTell
from rigwise.records.audit import AuditReport, LabelCheck, Shortcut, Suspect
from rigwise.records.bad_picture import BadPicture
from rigwise.records.review import Review
from rigwise.speech import printable, say
from rigwise.train.audit.duplicates import Pair, find_copies
from rigwise.train.audit.labels import Judged, judge_labels
from rigwise.train.audit.look import Look, Looks, look_at_all
from rigwise.train.audit.plan import AuditPlan
from rigwise.train.audit.shortcuts import MIN_PER_CLASS, Tested, probe_shortcuts
from rigwise.train.audit.suspects import Groups, copies, examples, grouped, odd_pictures, wrong_labels
from rigwise.train.pictures.examine import Candidate
from rigwise.train.pictures.gather import gather, parted
from rigwise.train.pictures.layout import find_layout
from rigwise.train.pictures.notes import imbalance, missing
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.progress import Progress
from rigwise.train.sample_ledger import SPLITS

NUM_EXAMPLES = 8
"""Pictures shown for a shortcut."""


def audit_folder(root: Path, plan: AuditPlan, progress: Progress) -> AuditReport:
    """What is suspicious in DATA, whatever state it is in.

    Raises:
        BadInput: DATA is missing, empty, or has neither class folders nor shards.
    """
    layout = find_layout(root)
    found = gather(root, layout)
    return _audit(root, found.candidates, [*layout.bad, *found.bad], plan, progress)


def audit_pictures(pictures: PictureSet, plan: AuditPlan, progress: Progress) -> AuditReport:
    """What is suspicious among the pictures of a run, as the run splits them."""
    candidates = [
        Candidate(path=picture.path, class_name=pictures.classes[picture.label], split=split, inside=picture.inside)
        for split in SPLITS
        for picture in getattr(pictures, split)
    ]
    return _audit(pictures.root, candidates, pictures.summary.bad, plan, progress)


def _audit(
    root: Path, found: Sequence[Candidate], bad: Iterable[BadPicture], plan: AuditPlan, progress: Progress
) -> AuditReport:
    candidates, left_out = parted(root, found, plan.review)
    drawn = _sample(candidates, plan.sample)
    looks, seconds = _look(root, drawn, progress)
    pairs = find_copies(looks.seen)
    groups = grouped(len(looks.seen), pairs)
    tested = probe_shortcuts(looks.seen, groups)
    labels, judged = _labels(root, looks.seen, groups, plan, progress)
    shortcuts = tuple(_shortcut(root, looks.seen, each) for each in tested)
    suspects = _suspects(root, looks.seen, pairs, judged, plan.review)
    all_bad = tuple(sorted([*bad, *looks.bad], key=lambda entry: entry.path))
    counts = _counts(candidates)
    return AuditReport(
        root=printable(root),
        needs_a_human=bool(all_bad or suspects or any(each.gives_class_away for each in shortcuts)),
        classes=tuple(sorted({each.class_name for each in candidates})),
        counts=counts,
        num_files=len(candidates),
        num_looked_at=len(looks.seen),
        images_per_second=len(drawn) / seconds if drawn else 0.0,
        bad=all_bad,
        notes=tuple(_notes(counts, looks.seen, len(drawn), len(candidates), tested)),
        suspects=suspects,
        shortcuts=shortcuts,
        labels=labels,
        left_out=tuple(sorted(printable(each.path) for each in left_out)),
    )


def _sample(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """At most that many, the same each time, drawn by the hash of their paths."""
    if most == 0 or len(candidates) <= most:
        return list(candidates)
    drawn = sorted(candidates, key=lambda each: sha256(each.path.encode("utf-8", "surrogateescape")).digest())[:most]
    return sorted(drawn, key=lambda each: each.path)


def _look(root: Path, candidates: Sequence[Candidate], progress: Progress) -> tuple[Looks, float]:
    progress.begin(say("looking at each picture"), len(candidates))
    began = time.perf_counter()
    try:
        return look_at_all(root, candidates, progress.update), time.perf_counter() - began
    finally:
        progress.end()


def _labels(
    root: Path, looks: Sequence[Look], groups: Groups, plan: AuditPlan, progress: Progress
) -> tuple[LabelCheck, Judged | None]:
    if not plan.labels:
        return LabelCheck(why_not=say("not asked for")), None
    if len({look.class_name for look in looks}) < 2:
        return LabelCheck(why_not=say("there is only one class")), None
    from rigwise.train.audit.features import frozen_features

    began = time.perf_counter()
    progress.begin(say("judging labels by what a network sees"), len(looks))
    try:
        features = frozen_features(root, looks, image_size=plan.image_size, progress=progress.update)
    except CannotTell as error:
        return LabelCheck(why_not=f"{error.what}: {error.why}"), None
    finally:
        progress.end()
    judged = judge_labels(features, [look.class_name for look in looks], groups)
    if judged is None:
        return LabelCheck(why_not=say("fewer than two classes have {count} pictures", count=MIN_PER_CLASS)), None
    seconds = time.perf_counter() - began
    return LabelCheck(
        num_judged=len(judged.places), out_of_fold_accuracy_ratio=judged.accuracy, seconds=seconds
    ), judged


def _shortcut(root: Path, looks: Sequence[Look], tested: Tested) -> Shortcut:
    shown = [looks[place] for place in tested.telling]
    return Shortcut(
        name=tested.asked.name,
        words=tested.asked.words,
        balanced_accuracy_ratio=tested.balanced_accuracy,
        chance_ratio=tested.chance,
        p_value=tested.p_value,
        gives_class_away=tested.gives_class_away,
        examples=examples(root, shown, NUM_EXAMPLES) if tested.gives_class_away else (),
    )


def _suspects(
    root: Path, looks: Sequence[Look], pairs: Sequence[Pair], judged: Judged | None, review: Review
) -> tuple[Suspect, ...]:
    found = chain(copies(root, looks, pairs), wrong_labels(root, looks, judged), odd_pictures(root, looks))
    return tuple(each for each in found if not review.accepted(each.kind, each.path))


def _counts(candidates: Iterable[Candidate]) -> dict[str, dict[str, int]]:
    numbers = Counter((each.split, each.class_name) for each in candidates)
    classes = sorted({name for _, name in numbers})
    present = [split for split in SPLITS if any(where == split for where, _ in numbers)]
    return {split: {name: numbers[split, name] for name in classes} for split in present}


def _notes(
    counts: Mapping[str, Mapping[str, int]], looks: Sequence[Look], num_drawn: int, num_found: int, tested: list[Tested]
) -> Iterable[str]:
    classes = {name for split in counts.values() for name in split}
    if len(classes) > 1:
        yield from missing({split: counts.get(split, dict.fromkeys(classes, 0)) for split in SPLITS})
        yield from imbalance(counts)
    if num_drawn < num_found:
        yield say("looked at {drawn} of {found} pictures: the rest may hold copies", drawn=num_drawn, found=num_found)
    sizes = Counter(look.class_name for look in looks)
    few = sorted(name for name in classes if sizes[name] < MIN_PER_CLASS)
    if few and len(classes) > 1:
        names = ", ".join(few)
        yield say("too few pictures to judge: {names} (fewer than {least})", names=names, least=MIN_PER_CLASS)
    if len(classes) > 1 and not tested:
        yield say("no shortcut could be tested: the classes are too small, or no property differs between pictures")
