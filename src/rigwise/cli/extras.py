"""Commands that need an optional extra say so in words, and settle what must be settled before it is imported."""

import importlib.util
import os
from collections.abc import Sequence

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.waiting import sleep_while_waiting

PAGE = ("jinja2", "plotly")
"""What report.html is made with."""
AUDITING = ("numpy", "PIL", "simplejpeg", "sklearn", "jinja2")
"""What an audit and its page import; judging labels also takes torch and timm."""
PREDICTING = ("torch", "numpy", "PIL", "simplejpeg")
"""What asking an exported model imports."""
TRAINING = ("torch", "timm", "numpy", "PIL", "simplejpeg", "sklearn", "safetensors", *PAGE)
"""What a training run and its page import."""


def need_extra(extra: str, modules: Sequence[str]) -> None:
    """Refuse to go on without the extra that brings `modules`; get ready to import them.

    Raises:
        BadInput: one of them is not installed, or the current folder is gone.
    """
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise BadInput(
            say("this command needs the `{extra}` extra", extra=extra),
            say("not installed beside rigwise: {modules}", modules=", ".join(missing)),
            say("pip install 'rigwise[{extra}]'", extra=extra),
        )
    _must_stand_somewhere()
    sleep_while_waiting()


def _must_stand_somewhere() -> None:
    """Where the current folder is gone, torch's math library ends the process as it is loaded."""
    try:
        os.getcwd()
    except OSError as error:
        raise BadInput(
            say("the current folder cannot be used"),
            error.strerror or str(error),
            say("cd to a folder that exists, then run the same command again"),
        ) from error
