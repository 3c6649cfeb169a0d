"""Output of `ethtool IFACE` (what the link negotiated) and `ethtool -S IFACE` (the driver's own counters)."""

import re

from rigwise.records.host import Interface

SETTINGS = re.compile(r"^\s{0,8}Settings for ([^\s:]{1,32}):", re.MULTILINE)
SPEED = re.compile(r"\bSpeed: (\d{1,7})Mb/s")
DUPLEX = re.compile(r"\bDuplex: (Full|Half)")
DETECTED = re.compile(r"\bLink detected: (yes|no)")
MODE = re.compile(r"\b(\d{1,7})base[\w-]{1,12}/(?:Full|Half)")
STATISTIC = re.compile(r"^\s{1,12}(?:[rt]xq?\d{1,4}: )?([\w.\[\]-]{1,64}): (\d{1,20})$", re.MULTILINE)
"""Some drivers count queue by queue: `rxq0: rx_pkts: 1000`."""
USUAL_MBIT_PER_SECOND = 1000
"""What a port offers that does not say: a 10-gigabit card on a switch with fewer is no fault."""
BAD_FRAMES = frozenset(
    {"rx_crc_errors", "rx_errors", "rx_align_errors", "rx_symbol_errors", "tx_errors", "rx_fcs_errors"}
)
"""Names that drivers share: frames damaged on the way."""
PACKETS = ("rx_packets", "tx_packets", "rx_pkts", "tx_pkts")
DROPS = ("rx_dropped", "rx_drops_no_frags", "rx_missed_errors", "rx_out_of_buffer", "rx_no_buffer_count")
"""Packets for which the machine had no room."""


def links(text: str) -> tuple[Interface, ...]:
    """Every interface with its speed and the most that both ends offer.

    >>> links('''Settings for eth0:
    ...     Supported link modes:   100baseT/Full
    ...                             1000baseT/Full
    ...     Speed: 100Mb/s
    ...     Duplex: Full
    ...     Link detected: yes''')[0].capable_mbit_per_second
    1000
    """
    heads = list(SETTINGS.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)] if heads else []
    if not heads:
        raise LookupError("Settings for")
    return tuple(_link(head[1], text[head.end() : end]) for head, end in zip(heads, ends, strict=True))


def _link(name: str, block: str) -> Interface:
    speed, duplex, detected = SPEED.search(block), DUPLEX.search(block), DETECTED.search(block)
    return Interface(
        name=name,
        up=detected[1] == "yes" if detected else None,
        mbit_per_second=int(speed[1]) if speed else None,
        capable_mbit_per_second=_capable(block),
        full_duplex=duplex[1] == "Full" if duplex else None,
    )


def _capable(block: str) -> int | None:
    """The fastest mode of both ends; of an end that does not say what it offers, a gigabit is to be expected."""
    modes: dict[str, list[int]] = {}
    heading = ""
    for line in block.splitlines():
        label, colon, rest = line.strip().partition(":")
        heading = label if colon else heading
        modes.setdefault(heading, []).extend(int(speed) for speed in MODE.findall(rest if colon else line))
    own, other = modes.get("Supported link modes"), modes.get("Link partner advertised link modes")
    if not own:
        return max(other, default=None) if other else None
    return min(max(own), max(other) if other else USUAL_MBIT_PER_SECOND)


def statistics(text: str) -> Interface:
    """The counters of `ethtool -S`, which does not name its interface.

    >>> statistics('''NIC statistics:
    ...      rx_packets: 1000
    ...      tx_packets: 900
    ...      rx_crc_errors: 30''').errors
    30
    """
    counters: dict[str, int] = {}
    for name, value in STATISTIC.findall(text):
        counters[name] = counters.get(name, 0) + int(value)
    if not counters:
        raise LookupError("statistics")
    packets = [counters[name] for name in PACKETS if name in counters]
    return Interface(
        name="",
        packets=sum(packets) if packets else None,
        errors=max((counters[name] for name in BAD_FRAMES if name in counters), default=None),
        dropped=next((counters[name] for name in DROPS if name in counters), None),
    )
