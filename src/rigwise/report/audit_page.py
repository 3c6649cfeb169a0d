"""The page of an audit: what is suspicious, with pictures, and a person's answers. Self-contained, asks no network."""

import hashlib
from collections.abc import Sequence
from typing import Any

from rigwise.records.audit import COPY, LABEL, ODD, AuditReport, Suspect
from rigwise.records.review import Answer
from rigwise.report.audit_words import (
    counterfactual_words,
    findings,
    kind_words,
    label_words,
    shortcut_words,
    verdict_words,
)
from rigwise.report.page_templates import review_sentences, script_json, source, templates
from rigwise.speech import say

AUDIT_PAGE = "audit.html"
"""In a run folder, beside report.html."""


def render_audit(report: AuditReport, name: str, earlier: Sequence[Answer] = ()) -> str:
    """The whole page as HTML text; `name` is the run folder's, `earlier` what was answered on pages before this one."""
    environment = templates()
    sources = {part: source(environment, part) for part in ("report.css", "review.js")}
    return environment.get_template("audit.html.j2").render(
        **audit_parts(report),
        name=name,
        css=sources["report.css"],
        script=sources["review.js"],
        embedded=script_json(_embedded(report, name, earlier)),
    )


def audit_parts(report: AuditReport) -> dict[str, Any]:
    """What the sections about an audit show, here and on the page of a run."""
    return {
        "audit": report,
        "verdict_words": verdict_words(report),
        "findings": tuple(findings(report)),
        "label_words": label_words(report),
        "shortcut_lines": tuple((each, shortcut_words(each)) for each in report.shortcuts),
        "counterfactual_words": counterfactual_words(report.counterfactual) if report.counterfactual else "",
        "kinds": tuple((kind, kind_words(kind), _answers(kind)) for kind in (COPY, LABEL, ODD)),
        "cards": tuple(enumerate(shown_suspects(report))),
    }


def shown_suspects(report: AuditReport) -> tuple[Suspect, ...]:
    """The suspects that have a picture, in the order of the page."""
    return tuple(
        each for kind in (COPY, LABEL, ODD) for each in report.suspects if each.kind == kind and each.thumbnail
    )


def _answers(kind: str) -> tuple[tuple[str, str], ...]:
    """The two answers for a kind of suspect, in words."""
    return {
        COPY: (("right", say("keep both")), ("wrong", say("leave this one out"))),
        LABEL: (("right", say("label right")), ("wrong", say("label wrong"))),
        ODD: (("right", say("keep")), ("wrong", say("leave out"))),
    }[kind]


def _embedded(report: AuditReport, name: str, earlier: Sequence[Answer]) -> dict[str, Any]:
    return {
        "run": hashlib.sha256(f"{name}\n{report.root}".encode()).hexdigest()[:16],
        "name": name,
        "cards": [
            {
                "kind": each.kind,
                "path": each.path,
                "label": each.class_name,
                "suggested": each.suggested_class,
                "sha256": each.sha256,
            }
            for each in shown_suspects(report)
        ],
        "earlier": earlier,
        "sentences": review_sentences(say("{done} of {total} reviewed, {wrong} to leave out")),
    }
