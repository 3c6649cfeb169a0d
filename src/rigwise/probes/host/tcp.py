"""TCP segments sent again: from /proc/net/snmp, `nstat`, `netstat -s`, or estimated from /proc/net/netstat."""

import re

from rigwise.records.host import PacketCounters, TcpCounters

SENT = re.compile(r"^\s*(\d{1,20}) segments? sent out", re.MULTILINE)
AGAIN = re.compile(r"^\s*(\d{1,20}) segments? retransmitt?ed", re.MULTILINE)
SEGMENT_BYTES = 1448
"""The payload of a full Ethernet frame: what was sent is at least this many segments."""
LOSSES = ("TCPFastRetrans", "TCPSlowStartRetrans", "TCPForwardRetrans", "TCPTimeouts", "TCPLostRetransmit")


def from_snmp(text: str) -> TcpCounters:
    r"""The counters of /proc/net/snmp.

    >>> from_snmp("Tcp: OutSegs RetransSegs\nTcp: 1000 30\n")
    TcpCounters(sent=1000, retransmitted=30, at_most=False)
    """
    values = pairs(text, "Tcp:")
    return TcpCounters(sent=values["OutSegs"], retransmitted=values["RetransSegs"])


def from_nstat(text: str) -> TcpCounters:
    r"""The counters of `nstat -az`.

    >>> from_nstat("TcpOutSegs       1000     0.0\nTcpRetransSegs     30     0.0\n")
    TcpCounters(sent=1000, retransmitted=30, at_most=False)
    """
    rows = [line.split() for line in text.splitlines()]
    values = {row[0]: int(row[1][:20]) for row in rows if len(row) >= 2 and row[1].isdecimal()}
    return TcpCounters(sent=values["TcpOutSegs"], retransmitted=values["TcpRetransSegs"])


def from_netstat(text: str) -> TcpCounters:
    r"""The counters of `netstat -s`; older versions write "retransmited".

    >>> from_netstat("Tcp:\n    1000 segments sent out\n    30 segments retransmited\n")
    TcpCounters(sent=1000, retransmitted=30, at_most=False)
    """
    sent, again = SENT.search(text), AGAIN.search(text)
    if sent is None or again is None:
        raise LookupError("segments")
    return TcpCounters(sent=int(sent[1]), retransmitted=int(again[1]))


def estimated(text: str) -> TcpCounters:
    """From /proc/net/netstat alone: bytes sent are at least so many segments, so the share is at most this."""
    tcp, ip = pairs(text, "TcpExt:"), pairs(text, "IpExt:")
    return TcpCounters(
        sent=ip["OutOctets"] // SEGMENT_BYTES,
        retransmitted=sum(tcp.get(name, 0) for name in LOSSES),
        at_most=True,
    )


def pairs(text: str, start: str) -> dict[str, int]:
    """The counters of the two lines that begin with `start`, by name."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(start)]
    names, values = lines[-2], lines[-1]
    return {name: int(value[:20]) for name, value in zip(names, values, strict=False) if value.isdecimal()}


def receive_queues(text: str) -> PacketCounters:
    r"""/proc/net/softnet_stat: hexadecimal, one line per CPU; packets, dropped ones, then how often time ran out.

    >>> receive_queues("000000ff 00000002 00000000\n00000001 00000000 00000000\n")
    PacketCounters(processed=256, dropped=2)
    """
    rows = [line.split() for line in text.splitlines() if line.strip()]
    if not rows:
        raise LookupError("CPU")
    processed, dropped = (sum(int(row[column][:16], 16) for row in rows) for column in (0, 1))
    return PacketCounters(processed=processed, dropped=dropped)
