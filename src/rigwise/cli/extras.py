"""Commands that need an optional extra say so in words, and settle what must be settled before it is imported."""

import importlib.util
from collections.abc import Sequence

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.waiting import sleep_while_waiting

PAGE = ("jinja2", "plotly")
"""What report.html is made with."""
TRAINING = ("torch", "timm", "numpy", "PIL", "simplejpeg", *PAGE)
"""What a training run and its page import."""


def need_extra(extra: str, modules: Sequence[str]) -> None:
    """Refuse to go on without the extra that brings `modules`; get ready to import them.

    Raises:
        BadInput: one of them is not installed.
    """
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise BadInput(
            say("this command needs the `{extra}` extra", extra=extra),
            say("not installed beside rigwise: {modules}", modules=", ".join(missing)),
            say("pip install 'rigwise[{extra}]'", extra=extra),
        )
    sleep_while_waiting()
