"""What an error text or a code means, who is to blame and what to do."""

import msgspec

from rigwise.records.evidence import Quote

EXPLAIN_SCHEMA = "rigwise.explain/1"


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One meaning of what was asked."""

    subject: str
    """What it explains: `Xid 79`, `CUDA runtime 802, cudaErrorSystemNotReady`, or the fault of a text."""
    meaning: str
    blame: str
    """Who is to blame, in words; "" where nobody can say from this alone."""
    certainty: str
    """How sure that is, in words."""
    surer: str
    """What to look at to be surer, in one sentence; "" where there is no more to know."""
    fix: str
    """What to do, in one sentence."""
    next_steps: tuple[str, ...]
    """Commands, shown and never run."""
    check: str
    """The check that looks for this fault, or ""."""
    evidence: tuple[Quote, ...] = ()
    """What was recognised in a text."""
    follows: str = ""
    """The check whose fault, found in the same text, brings this one with it."""
    sources: tuple[str, ...] = ()


class ExplainReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise explain --json` prints: the first cause first; none where nothing was recognised."""

    schema: str = EXPLAIN_SCHEMA
    asked: str
    explanations: tuple[Explanation, ...]
    beyond: str = ""
    """Where the code is of a known kind and in no table: what the table ends at."""
    near: tuple[str, ...] = ()
    """Where nothing was recognised: names that are similar."""
