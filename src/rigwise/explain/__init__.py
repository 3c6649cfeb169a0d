"""What an error text, a traceback or a code means: the same tables and checks as `rigwise check` judges by."""

import io

from rigwise.errors import BadInput
from rigwise.explain.codes import beyond_the_tables, explain_code, explain_named, similar_names
from rigwise.explain.texts import explain_text, explain_words, similar_texts
from rigwise.records.explanation import ExplainReport, Explanation
from rigwise.sources.opening import open_source
from rigwise.sources.source import Source

A_FEW = 2000
"""Characters: more is no name and no phrase, and what it holds was looked for as evidence."""


def explain(words: str) -> ExplainReport:
    """What a code, a name or a text means, given as words."""
    found = explain_code(words) or _text(words) or (explain_named(words) if len(words) <= A_FEW else ())
    beyond = "" if found else beyond_the_tables(words)
    near = () if found or beyond else (*similar_names(words), *similar_texts(words))
    return ExplainReport(asked=words, explanations=found, beyond=beyond, near=near)


def explain_evidence(source: Source) -> ExplainReport:
    """What a file or standard input tells of."""
    found = explain_text(source)
    near = () if found else similar_texts(source.program_output().text)
    return ExplainReport(asked=source.name, explanations=found, near=near)


def _text(words: str) -> tuple[Explanation, ...]:
    """A text judged as evidence; a few words that are no evidence yet are still looked up."""
    try:
        found = explain_text(open_source("-", io.BytesIO(words.encode("utf-8", "replace"))))
    except BadInput:
        found = ()
    return found or (explain_words(words) if len(words) <= A_FEW else ())
