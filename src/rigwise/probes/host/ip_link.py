"""Network interfaces as `ip -s link`, /proc/net/dev and /sys/class/net show them."""

import re

from rigwise.records.host import Interface

HEAD = re.compile(r"\d{1,5}: ([^\s:@]{1,32})(?:@\S+)?: <([A-Z0-9_,-]*)>(?: .*?mtu (\d{1,6}))?")
NO_LINK = re.compile(r"(?:lo|docker\d+|veth.*|br-.*|virbr\d+|tun\d+|tap.*|dummy\d+|ifb\d+|cni\d+|flannel.*|cali.*)")
"""Interfaces inside the machine: what they drop says nothing about a cable."""


def interfaces(text: str) -> tuple[Interface, ...]:
    r"""Every interface of `ip -s link` (or -s -s) with its counters.

    >>> interfaces('''2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT
    ...     link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
    ...     RX:  bytes packets errors dropped  missed   mcast
    ...          90000    1000     20       5       0       0
    ...     TX:  bytes packets errors dropped carrier collsns
    ...          80000     900      1       0       2       0''')[0].errors
    21
    """
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if HEAD.match(line.strip()):
            blocks.append([line.strip()])
        elif blocks:
            blocks[-1].append(line)
    if not blocks:
        raise LookupError("interface")
    return tuple({interface.name: interface for interface in map(_interface, blocks)}.values())


def _interface(block: list[str]) -> Interface:
    head = HEAD.match(block[0])
    assert head is not None
    counted = _counters(block[1:])
    flags = head[2].split(",")

    def both_ways(name: str) -> int | None:
        return counted.get(("RX", name), 0) + counted.get(("TX", name), 0) if counted else None

    return Interface(
        name=head[1],
        up="UP" in flags and "NO-CARRIER" not in flags,
        mtu=int(head[3]) if head[3] else None,
        packets=both_ways("packets"),
        errors=both_ways("errors"),
        dropped=both_ways("dropped"),
        lost_carriers=counted.get(("TX", "carrier")),
    )


def _counters(lines: list[str]) -> dict[tuple[str, str], int]:
    """Counters by direction and column; each headline is followed by its numbers."""
    found: dict[tuple[str, str], int] = {}
    columns: list[str] = []
    way = ""
    for line in lines:
        cells = line.split()
        if len(cells) > 2 and cells[0] in ("RX:", "TX:"):
            way, columns = cells[0][:2], cells[1:]
        elif columns and len(cells) >= len(columns) and all(cell.isdecimal() for cell in cells):
            found |= {(way, name): int(cell[:20]) for name, cell in zip(columns, cells, strict=False)}
            columns = []
        else:
            columns = []
    return found


def counted(text: str) -> tuple[Interface, ...]:
    """Every interface of /proc/net/dev with its counters.

    >>> counted("  eth0: 90000 1000 20 5 0 0 0 0 80000 900 1 0 0 0 2 0")[0].packets
    1900
    """
    found = []
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        cells = rest.split()
        if colon and len(cells) >= 16 and all(cell.isdecimal() for cell in cells[:16]):
            n = [int(cell[:20]) for cell in cells]
            found.append(
                Interface(
                    name=name.strip(),
                    packets=n[1] + n[9],
                    errors=n[2] + n[10],
                    dropped=n[3] + n[11],
                    lost_carriers=n[14],
                )
            )
    if not found:
        raise LookupError("interface")
    return tuple(found)


def is_link(name: str) -> bool:
    """Whether an interface leads out of the machine.

    >>> is_link("enp5s0"), is_link("lo"), is_link("docker0"), is_link("veth1a2b")
    (True, False, False, False)
    """
    return NO_LINK.fullmatch(name) is None
