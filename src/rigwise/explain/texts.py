"""Texts: what the checks conclude from a pasted log or traceback, the first cause first."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from rigwise.engine import judge
from rigwise.explain.words import blame_words, certainty_words
from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.knowledge.signatures import Signature, signatures
from rigwise.knowledge.xids import xid
from rigwise.probes.rig import read_rig
from rigwise.records.evidence import Quote
from rigwise.records.explanation import Explanation
from rigwise.records.finding import RIG, Finding, Verdict
from rigwise.records.rig import Rig
from rigwise.sources.source import Source
from rigwise.speech import say

_XID = re.compile(r"\bXid \([^)\n]{1,40}\)[^\n]{0,40}?: (\d{1,3}),")
_WORD = re.compile(r"\w{3,}")
_ANY_WORD = re.compile(r"\w+")
SHORTEST_PHRASE = 8
"""Our choice: characters of a phrase that is looked up inside known texts."""
FEWEST_SHARED_RATIO = 0.5
"""Our choice: half of a known text's words, before it is named as similar."""
MOST_SIMILAR = 3
LONGEST_COMPARED = 20_000
"""Our choice: characters; a long log has words of everything."""


def explain_text(source: Source) -> tuple[Explanation, ...]:
    """Every fault that a text tells of, causes before what follows from them."""
    rig = read_rig(source)
    report = judge(rig)
    return tuple(_of_finding(one, rig) for one in report.findings if one.verdict is Verdict.PROBLEM)


def explain_words(text: str) -> tuple[Explanation, ...]:
    """The error texts in a few words, taken as what a program and as what the kernel prints; else those they are of."""
    plain = text.strip()
    found = [(place.start, row, place) for row in signatures() if (place := row.search(plain))]
    found.sort(key=lambda each: each[0])
    if not found:
        return tuple(_of_words(row, text) for row, text in _holding(plain))
    quote = Quote(say("the text"), _first_line(plain))
    return tuple(_of_signature(row, quote, place.values) for _start, row, place in found)


def _holding(words: str) -> list[tuple[Signature, str]]:
    """For each fault of which known texts hold these very words, one of them; the fault of most texts first."""
    wanted = _letters(words)
    if len(wanted.strip()) < SHORTEST_PHRASE:
        return []
    held = [(row, text) for row in signatures() for text in (row.sample, *row.variants) if wanted in _letters(text)]
    held.sort(key=lambda each: len(each[1]))
    counted = Counter(row.check for row, _text in held).most_common(MOST_SIMILAR)
    by_check = {row.check: (row, _first_line(text)) for row, text in reversed(held) if "{" not in row.meaning}
    return [by_check[check] for check, _count in counted if check in by_check]


def _letters(text: str) -> str:
    """Words in small letters, one space around each."""
    return f" {' '.join(_ANY_WORD.findall(text.casefold()))} "


def similar_texts(text: str) -> tuple[str, ...]:
    """Known error texts that share most of their words with this one, the most similar first."""
    words = set(_WORD.findall(text[:LONGEST_COMPARED].casefold()))
    scored = sorted(((_shared(row, words), row) for row in signatures()), key=lambda each: each[0], reverse=True)
    return tuple(_first_line(row.sample) for score, row in scored[:MOST_SIMILAR] if score >= FEWEST_SHARED_RATIO)


def _shared(row: Signature, words: set[str]) -> float:
    known = set(_WORD.findall(row.sample.casefold()))
    return len(known & words) / len(known)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0][:160]


def _of_words(row: Signature, text: str) -> Explanation:
    """A known text that holds the words that were given; the whole line might say otherwise."""
    explained = _of_signature(row, Quote(say("such as"), text), {})
    return msgspec.structs.replace(explained, certainty=say("possible; these words are part of such a text"))


def _of_signature(row: Signature, quote: Quote, values: dict[str, str]) -> Explanation:
    return Explanation(
        subject=check_catalogue()[row.check].title,
        meaning=row.means(values),
        blame=blame_words(row.blame),
        certainty=certainty_words(row.certainty),
        surer=row.surer,
        fix=row.action,
        next_steps=row.next_steps,
        check=row.check,
        evidence=(quote,),
        sources=row.sources,
    )


def _of_finding(finding: Finding, rig: Rig) -> Explanation:
    """A finding, with what the error text behind it adds: who is to blame, and how to be surer."""
    row = _signature_behind(finding, rig)
    subject = finding.title if finding.target == RIG else f"{finding.short_target}: {finding.title}"
    return Explanation(
        subject=subject,
        meaning=finding.because,
        blame=blame_words(row.blame) if row else _blamed_by_xid(finding.evidence),
        certainty=certainty_words(row.certainty) if row else say("judged by the evidence that is quoted"),
        surer=row.surer if row else "",
        fix=finding.next_steps[0],
        next_steps=finding.next_steps[1:],
        check=finding.check,
        evidence=finding.evidence,
        follows=finding.symptom_of or "",
        sources=row.sources if row else (),
    )


def _signature_behind(finding: Finding, rig: Rig) -> Signature | None:
    told = next((one.signature for one in rig.told if one.check == finding.check), "")
    return next((row for row in signatures() if row.id == told), None)


def _blamed_by_xid(evidence: Iterable[Quote]) -> str:
    return next((row.blamed for code in _xids_in(evidence) if (row := xid(code))), "")


def _xids_in(evidence: Iterable[Quote]) -> Iterator[int]:
    for quote in evidence:
        yield from (int(found[1]) for found in _XID.finditer(quote.text))
