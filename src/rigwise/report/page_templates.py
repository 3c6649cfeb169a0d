"""The templates of the pages, and what every page shares: escaping, and marks for characters that would act."""

from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rigwise.report.text import printable
from rigwise.speech import say


def templates() -> Environment:
    """The environment of templates/: every value is escaped, and none can reorder or hide text."""
    environment = Environment(
        loader=PackageLoader("rigwise.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=harmless,
    )
    environment.globals |= {"say": say}
    return environment


def source(environment: Environment, name: str) -> Markup:
    """A file of templates/ exactly as it is: our own code, not to be escaped."""
    loader = environment.loader
    assert loader is not None
    return Markup(loader.get_source(environment, name)[0])


def script_json(content: Any) -> Markup:
    """What a page's script reads, as JSON that cannot end the script element it stands in."""
    text = msgspec.json.encode(content).decode()
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def review_sentences(reviewed: str) -> dict[str, str]:
    """What review.js says; it fills the fields of `reviewed` in itself."""
    return {
        "reviewed": reviewed,
        "copied": say("copied"),
        "not_kept": say("This browser does not keep your answers: export them before you close the page."),
    }


def harmless(value: Any) -> Any:
    r"""A text with visible marks for control characters, its lines kept; anything else as it is.

    >>> harmless("a" + chr(27) + "[2J\n\tb")
    'a\ufffd[2J\n        b'
    """
    if type(value) is not str:
        return value
    return "\n".join(printable(line.expandtabs()) for line in value.split("\n"))
