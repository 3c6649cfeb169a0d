"""Commands that need an optional extra say so in words, and settle what must be settled before it is imported."""

import importlib.util

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.waiting import sleep_while_waiting


def need_extra(extra: str, module: str) -> None:
    """Refuse to go on without the extra that brings `module`; get ready to import it.

    Raises:
        BadInput: the module is not installed.
    """
    if importlib.util.find_spec(module) is None:
        raise BadInput(
            say("this command needs the `{extra}` extra", extra=extra),
            say("{module} is not installed beside rigwise", module=module),
            say("pip install 'rigwise[{extra}]'", extra=extra),
        )
    sleep_while_waiting()
