"""The PCIe link of each GPU, seen from the card and from the port above it: from /sys, else from `lspci`."""

from collections.abc import Iterator

from rigwise.probes.answers import assignments
from rigwise.probes.gpu.gpus_from_nvml import read_num_gpus, short_bus_id
from rigwise.probes.topology.lspci import HIDDEN, Device, generation, link_end
from rigwise.probes.topology.pci import read_pci_gpus
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, absent, not_asked, present
from rigwise.records.topology import LinkEnd, PcieLink
from rigwise.sources.source import Source

DEVICES = "/sys/bus/pci/devices"
PORTS = "/sys/bus/pci_express/devices"
"""Its entries name the ports: `0000:00:01.1:pcie002`."""
MOST_PORTS = 512
"""Our choice: more than any machine has."""


def links_from_sys(source: Source) -> tuple[PcieLink, ...]:
    """The links of the GPUs that the driver, or else the PCI bus, names; none where /sys tells nothing."""
    addresses = _gpu_addresses(source)
    ports = _ports_by_bus(source) if addresses else {}
    return tuple(link for address in addresses if (link := _link(source, address, ports)))


def _gpu_addresses(source: Source) -> tuple[str, ...]:
    """`0000:41:00.0` for each GPU."""
    answers = (source.nvml("DeviceGetPciInfo", gpu) for gpu in range(min(read_num_gpus(source).value_or(0), 256)))
    known = (assignments(answer.text).get("busId", "") for answer in answers if answer.status is Status.OK)
    told = tuple(short_bus_id(bus) for bus in known if bus)
    return told or tuple(f"0000:{device.address}" for device in read_pci_gpus(source).value_or(()))


def _ports_by_bus(source: Source) -> dict[str, str]:
    """The address of the port above each bus: `0000:41` -> `0000:40:01.1`."""
    listing = source.file(PORTS)
    if listing.status is not Status.OK:
        return {}
    names = dict.fromkeys(entry.rpartition(":")[0] for entry in listing.text.split())
    ports = {}
    for name in list(names)[:MOST_PORTS]:
        below = source.file(f"{DEVICES}/{name}/secondary_bus_number")
        if below.status is Status.OK and below.text.strip().isdecimal():
            ports[f"{name.partition(':')[0]}:{int(below.text):02x}"] = name
    return ports


def _link(source: Source, address: str, ports: dict[str, str]) -> PcieLink | None:
    card = _end_from_sys(source, address, "PCIe link")
    if card is None:
        return None
    port = ports.get(address.rpartition(":")[0])
    slot = _end_from_sys(source, port, "PCIe link of the slot") if port else None
    removable = source.file(f"{DEVICES}/{address}/removable")
    return PcieLink(
        address=address,
        card=card,
        port=slot or not_asked("PCIe link of the slot"),
        removable=removable.status is Status.OK and removable.text.strip() == "removable",
    )


def _end_from_sys(source: Source, address: str, name: str) -> Reading[LinkEnd] | None:
    """One end of a link; None where /sys does not describe it."""
    files = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
    answers = [source.file(f"{DEVICES}/{address}/{file}") for file in files]
    if not any(answer.status is Status.OK for answer in answers):
        return None
    speed, width, speed_max, width_max = (_first_word(answer) for answer in answers)
    end = LinkEnd(
        gen=generation(speed), width=_lanes(width), gen_max=generation(speed_max), width_max=_lanes(width_max)
    )
    said = ", ".join(f"{file} {answer.text.strip()}" for file, answer in zip(files, answers, strict=True))
    return present(name, end, answers[1], said)


def _first_word(answer: Evidence) -> str:
    """`16.0` of `16.0 GT/s PCIe`; "" for an answer that never came."""
    return answer.text.partition(" ")[0].strip() if answer.status is Status.OK else ""


def _lanes(text: str) -> int | None:
    """Lanes; None for 0, 63 and 255, which Linux shows where the link does not answer."""
    return int(text) if text.isdecimal() and 0 < int(text) <= 32 else None


def links_from_lspci(devices: tuple[Device, ...], evidence: Evidence) -> tuple[PcieLink, ...]:
    """The links of the NVIDIA display devices that lspci lists, and of the ports above them."""
    below = {device.secondary_bus: device for device in devices if device.secondary_bus}
    gpus = (device for device in devices if device.is_nvidia_gpu or device.is_unnamed)
    return tuple(_link_from_lspci(device, below, evidence) for device in gpus)


def _link_from_lspci(device: Device, below: dict[str, Device], evidence: Evidence) -> PcieLink:
    port = below.get(device.address.rpartition(":")[0])
    return PcieLink(
        address=device.address,
        name=device.name or device.chip,
        chip=device.chip,
        card=_end_from_lspci(device, evidence, "PCIe link"),
        port=_end_from_lspci(port, evidence, "PCIe link of the slot") if port else not_asked("PCIe link of the slot"),
    )


def _end_from_lspci(device: Device, evidence: Evidence, name: str) -> Reading[LinkEnd]:
    try:
        end = link_end(device)
    except LookupError:
        return absent(name, evidence, Status.NOT_PERMITTED if HIDDEN in device.lines else Status.NOT_RECORDED)
    return present(name, end, evidence, "\n".join(_quoted(device)))


def _quoted(device: Device) -> Iterator[str]:
    yield from filter(None, (f"{device.address} {device.description}".strip(),))
    yield from (line for line in device.lines if line.startswith(("LnkCap:", "LnkSta:")))
