"""Output of `ibstat` and `ibstatus`: the ports of InfiniBand and RoCE adapters."""

import re

from rigwise.records.host import RdmaPort

_HEAD = re.compile(
    r"^[ \t]{0,8}(?:CA '(?P<adapter>[\w.-]{1,40})'|Port (?P<port>\d{1,3}):"
    r"|Infiniband device '(?P<device>[\w.-]{1,40})' port (?P<number>\d{1,3}) status:)[ \t]*$",
    re.MULTILINE,
)
_MODEL = re.compile(r"\bCA type:[ \t]+(\S{1,40})")
_STATE = re.compile(r"^[ \t]*state:[ \t]+(?:\d{1,2}: )?(\w{1,20})", re.MULTILINE | re.IGNORECASE)
_PHYSICAL = re.compile(r"^[ \t]*phys(?:ical)? state:[ \t]+(?:\d{1,2}: )?(\w{1,24})", re.MULTILINE | re.IGNORECASE)
_LAYER = re.compile(r"^[ \t]*link[ _]layer:[ \t]+(\w{1,20})", re.MULTILINE | re.IGNORECASE)
_ADAPTER = re.compile(r"^(?=[ \t]{0,8}(?:CA '|Infiniband device '))", re.MULTILINE)
_TELLING = re.compile(r"[ \t]*(?:CA '|Port \d|Infiniband device '|(?:phys(?:ical)? )?state:)", re.IGNORECASE)
MAX_QUOTED_LINES = 12


def ports(text: str) -> tuple[RdmaPort, ...]:
    """Every port, in the order of the text; one that was cut before its state is left out.

    >>> ports('''CA 'mlx5_5'
    ...     CA type: MT4129
    ...     Port 1:
    ...         State: Down
    ...         Physical state: Polling
    ...         Link layer: InfiniBand''')[0].physical_state
    'polling'
    """
    found: list[RdmaPort] = []
    adapter = model = ""
    heads = list(_HEAD.finditer(text))
    for head, end in zip(heads, [*(one.start() for one in heads[1:]), len(text)], strict=True):
        block = text[head.end() : end]
        if head["adapter"]:
            adapter, model = head["adapter"], _word(_MODEL, block)
            continue
        adapter = head["device"] or adapter
        state = _word(_STATE, block).lower()
        if state:
            found.append(
                RdmaPort(
                    adapter=adapter,
                    port=int(head["port"] or head["number"]),
                    model="" if head["device"] else model,
                    state=state,
                    physical_state=_word(_PHYSICAL, block).lower(),
                    link_layer=_word(_LAYER, block).lower(),
                )
            )
    if not found:
        raise LookupError("Port")
    return tuple(found)


def excerpt(text: str) -> str:
    """The lines on adapters with a port that does not work; on the first ones where all do."""
    adapters = _ADAPTER.split(text)
    idle = [adapter for adapter in adapters if any(found[1].lower() != "active" for found in _STATE.finditer(adapter))]
    lines = [line.strip() for adapter in idle or adapters for line in adapter.splitlines() if _TELLING.match(line)]
    return "\n".join(lines[:MAX_QUOTED_LINES])


def _word(pattern: re.Pattern[str], block: str) -> str:
    found = pattern.search(block)
    return found[1] if found else ""
