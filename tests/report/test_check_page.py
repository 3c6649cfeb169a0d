"""The page of a check: the answer first, nothing fetched, and no evidence acts on it."""

import re

import msgspec
from report.sample_run import healthy_check, stopping_check

from rigwise.records.evidence import Quote
from rigwise.records.finding import CheckReport
from rigwise.report.check_page import render_check

HOSTILE = "</pre><script>alert(1)</script>\x1b[2J\x9b31m\u202eexe.gpj\nsecond line\ttab"


def page(report: CheckReport, origin: str = "this machine") -> str:
    return render_check(report, ("the rig",), origin)


def with_evidence(report: CheckReport, text: str) -> CheckReport:
    findings = tuple(msgspec.structs.replace(one, evidence=(Quote(text, text),)) for one in report.findings)
    return msgspec.structs.replace(report, findings=findings)


def test_the_answer_comes_first() -> None:
    html = page(stopping_check())
    text = " ".join(re.sub(r"<[^>]+>", " ", html.split("<main")[1]).split())
    decision = stopping_check().decision
    order = [text.index(words) for words in ("STOP", decision.because, "Next", "Rig", "Checks")]
    assert order == sorted(order)


def test_nothing_is_fetched_and_nothing_runs() -> None:
    for report in (healthy_check(), stopping_check()):
        html = page(report)
        assert not re.search(r"""(?:src|href|action)\s*=\s*["'](?!#)|url\(|@import""", html)
        assert "<script" not in html
        assert "default-src 'none'" in html


def test_hostile_evidence_is_shown_and_does_nothing() -> None:
    html = page(with_evidence(stopping_check(), HOSTILE), origin=HOSTILE)
    assert "alert(1)" in html
    assert "<script" not in html
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html)
    assert "second line" in html


def test_lines_of_evidence_stay_lines() -> None:
    html = page(with_evidence(stopping_check(), "first\nsecond"))
    assert "first\nsecond</pre>" in html
