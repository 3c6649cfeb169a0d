"""An audit in sentences, the same on the terminal and on the pages. Every one is a suspicion, and says so."""

from collections import Counter
from collections.abc import Iterator

from rigwise.records.audit import COPY, LABEL, ODD, AuditReport, Counterfactual, Shortcut
from rigwise.speech import say
from rigwise.units import percent, significant


def verdict_words(report: AuditReport) -> str:
    """One sentence: what to do with these pictures."""
    if report.needs_a_human:
        return say("Look at the pictures below before you trust an accuracy; a person decides.")
    return say("Nothing suspicious was found in the pictures looked at.")


def kind_words(kind: str) -> str:
    """What the suspects of a kind are called."""
    return {
        COPY: say("the same picture more than once"),
        LABEL: say("labels that may be wrong"),
        ODD: say("odd pictures"),
    }[kind]


def findings(report: AuditReport) -> Iterator[tuple[str, str]]:
    """Label and sentence of everything suspicious, most harmful first."""
    if report.bad:
        first = report.bad[0]
        count = len(report.bad)
        yield say("unreadable"), say("{count}, first {path}: {why}", count=count, path=first.path, why=first.reason)
    numbers = Counter(each.kind for each in report.suspects)
    for label, kind in ((say("copies"), COPY), (say("labels"), LABEL), (say("odd"), ODD)):
        if numbers[kind]:
            first_suspect = next(each for each in report.suspects if each.kind == kind)
            words = {"count": numbers[kind], "path": first_suspect.path, "why": first_suspect.because}
            yield label, say("{count} to look at, first {path}: {why}", **words)
    for shortcut in report.shortcuts:
        if shortcut.gives_class_away:
            yield say("shortcut?"), shortcut_words(shortcut)
    if report.counterfactual and report.counterfactual.leans_on_background:
        yield say("background?"), counterfactual_words(report.counterfactual)


def shortcut_words(shortcut: Shortcut) -> str:
    """What a property tells of the class."""
    values = {
        "what": shortcut.words,
        "reached": significant(shortcut.balanced_accuracy_ratio),
        "chance": significant(shortcut.chance_ratio),
    }
    if shortcut.gives_class_away:
        return say("{what} alone predicts the class: {reached}, chance {chance}; is that meant to be so?", **values)
    return say("{what} does not give the class away: {reached}, chance {chance}", **values)


def label_words(report: AuditReport) -> str:
    """How the labels were judged, or why not."""
    labels = report.labels
    if labels.out_of_fold_accuracy_ratio is None:
        return say("labels were not judged: {why}", why=labels.why_not)
    return say(
        "labels of {count} pictures were judged by a linear probe on frozen features, itself right in {share}",
        count=labels.num_judged,
        share=percent(labels.out_of_fold_accuracy_ratio),
    )


def counterfactual_words(found: Counterfactual) -> str:
    """What other backgrounds do to the trained model."""
    total = found.num_pictures
    if not total:
        return found.because
    return say(
        "backgrounds swapped on {total} pictures: right in {before} as they are, {same} with backgrounds of their own "
        "class, {other} with those of another; {because}",
        total=total,
        before=percent(found.as_they_are / total),
        same=percent(found.same_class / total),
        other=percent(found.other_class / total),
        because=found.because,
    )
