"""Network interfaces and TCP, from the machine itself or from pasted ip, ethtool, netstat and nstat."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from rigwise.probes.answers import parsed
from rigwise.probes.host import ethtool, ibstat, ip_link, tcp
from rigwise.probes.host.columns import derived, first_present
from rigwise.probes.host.counter_looks import Looks
from rigwise.records.host import Interface, Network, RdmaPort, TcpCounters
from rigwise.records.reading import Reading
from rigwise.sources.source import Source

INTERFACES, SEGMENTS = "network interfaces", "TCP segments"
GIGABIT = 1000


def read_network(source: Source, looks: Looks) -> Network:
    """Speed, errors and losses."""
    return Network(
        interfaces=_from_machine(source) if looks.answered else _from_reports(source),
        tcp=_segments(source, looks),
        receive_queues=parsed("receive queues", source.file("/proc/net/softnet_stat"), tcp.receive_queues),
        rdma_ports=_rdma_ports(source),
    )


def _rdma_ports(source: Source) -> Reading[tuple[RdmaPort, ...]]:
    """Told only by a pasted ibstat; it names adapters by numbers that a recording would have to mask."""
    evidence = source.command([], key="ibstat")
    return parsed("RDMA ports", evidence, lambda _quoted: ibstat.ports(evidence.text), ibstat.excerpt(evidence.text))


def _from_machine(source: Source) -> Reading[tuple[Interface, ...]]:
    counted = first_present(*_counted(source))
    return derived(counted, INTERFACES, lambda found: tuple(_with_speed(source, one) for one in _links(found)))


def _from_reports(source: Source) -> Reading[tuple[Interface, ...]]:
    """Interfaces of pasted reports; `ethtool -S` does not name the one it is about."""
    links = parsed(INTERFACES, source.command(["ethtool"], key="ethtool"), ethtool.links)
    own = parsed(INTERFACES, source.command(["ethtool", "-S"], key="ethtool -S"), ethtool.statistics)
    unnamed = derived(own, INTERFACES, _alone)
    base = first_present(*_counted(source), links, unnamed)
    return derived(base, INTERFACES, lambda found: tuple(_joined(one, links.value or ()) for one in _links(found)))


def _alone(interface: Interface) -> tuple[Interface, ...]:
    return (interface,)


def _counted(source: Source) -> list[Reading[tuple[Interface, ...]]]:
    return [
        parsed(INTERFACES, source.command(["ip", "-s", "link"], key="ip -s link"), ip_link.interfaces),
        parsed(INTERFACES, source.file("/proc/net/dev"), ip_link.counted),
    ]


def _links(interfaces: Iterable[Interface]) -> list[Interface]:
    return [one for one in interfaces if ip_link.is_link(one.name)]


def _with_speed(source: Source, interface: Interface) -> Interface:
    """The interface with what the kernel says of its link, and, where that is slow, what it could do."""
    folder = f"/sys/class/net/{interface.name}"
    speed = parsed("speed", source.file(f"{folder}/speed"), int).value or 0
    duplex = parsed("duplex", source.file(f"{folder}/duplex"), str.strip).value or ""
    full = {"full": True, "half": False}.get(duplex)
    known = replace(interface, mbit_per_second=speed if speed > 0 else None, full_duplex=full)
    if not 0 < speed < GIGABIT:
        return known
    name = interface.name
    offered = parsed(INTERFACES, source.command(["ethtool", name], key=f"ethtool {name}"), ethtool.links)
    return _joined(known, offered.value or ())


def _joined(interface: Interface, links: Sequence[Interface]) -> Interface:
    """The interface with what `ethtool` says of its link."""
    link = next((one for one in links if one.name == interface.name), interface)
    return replace(
        interface,
        up=link.up if interface.up is None else interface.up,
        mbit_per_second=link.mbit_per_second or interface.mbit_per_second,
        capable_mbit_per_second=link.capable_mbit_per_second,
        full_duplex=link.full_duplex if interface.full_duplex is None else interface.full_duplex,
    )


def _segments(source: Source, looks: Looks) -> Reading[TcpCounters]:
    exact = parsed(SEGMENTS, source.file("/proc/net/snmp"), tcp.from_snmp)
    if looks.answered:
        return exact
    return first_present(
        exact,
        parsed(SEGMENTS, source.command(["nstat"], key="nstat"), tcp.from_nstat),
        parsed(SEGMENTS, source.command(["netstat", "-s"], key="netstat -s"), tcp.from_netstat),
        parsed(SEGMENTS, source.file("/proc/net/netstat"), tcp.estimated),
    )
