"""What explanations share: who is to blame, how sure, and a check explained."""

import importlib
import re

from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.knowledge.signatures import signatures
from rigwise.records.explanation import Explanation
from rigwise.speech import say


def blame_words(blame: str) -> str:
    """Who is to blame, in words."""
    return {
        "application": say("the program or its settings"),
        "framework": say("the framework or library"),
        "driver": say("the driver"),
        "hardware": say("the hardware"),
        "link": say("link or bus"),
        "power": say("power, heat or seating"),
        "environment": say("how it was installed or started"),
        "system": say("the system and its limits"),
        "nobody": say("nobody: it is no fault"),
    }.get(blame, "")


def certainty_words(certainty: str) -> str:
    """How sure the text alone is, in words."""
    return {
        "certain": say("certain from the text alone"),
        "likely": say("likely; the text allows other causes"),
        "possible": say("possible; the text alone does not tell"),
    }.get(certainty, "")


def by_the_code() -> str:
    """How sure a code is."""
    return say("certain that it means this; not why it happened")


def of_check(check: str) -> Explanation:
    """A check's fault: what it is, by which texts it is told, and what to do."""
    row = check_catalogue()[check]
    texts = [signature for signature in signatures() if signature.check == check]
    blamed = dict.fromkeys(blame_words(text.blame) for text in texts)
    return Explanation(
        subject=check,
        meaning=f"{row.title}. {_what(check)}".strip(),
        blame=say(", or ").join(blamed),
        certainty=say("a check of rigwise; error texts that tell of it: {count}", count=len(texts)),
        surer="" if row.told_only else say("Let it look at the machine."),
        fix=row.action,
        next_steps=row.next_steps if row.told_only else (f"rigwise check --only {check}", *row.next_steps),
        check=check,
        sources=row.sources,
    )


def _what(check: str) -> str:
    """The paragraph `What:` of a check's module."""
    if check_catalogue()[check].told_only:
        return ""
    document = importlib.import_module(f"rigwise.checks.{check}").__doc__ or ""
    found = re.search(r"\nWhat: ([\s\S]*?)\n(?:Why|How to tell): ", document)
    what = " ".join(found[1].split()) if found else ""
    return what[:1].upper() + what[1:]
