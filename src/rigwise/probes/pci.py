"""NVIDIA display devices on the PCI bus, whether or not a driver claims them."""

from rigwise.probes.answers import parsed
from rigwise.records.evidence import Status
from rigwise.records.reading import Reading, present
from rigwise.records.rig import PciDevice
from rigwise.sources.source import Source

NVIDIA = "10de"
OTHER_DRIVERS = frozenset({"pcieport", "snd_hda_intel", "xhci_hcd", "nvidia-nvswitch", "forcedeth", "shpchp"})
"""Drivers of NVIDIA devices that are not GPUs: bridges, sound, USB, NVSwitch, old network chips."""
MAX_QUOTED = 8
DISPLAY_CLASS = "0x03"
"""PCI base class 3, display controller (PCI Code and ID Assignment Specification): VGA 0x0300, 3D 0x0302."""


def read_pci_gpus(source: Source) -> Reading[tuple[PciDevice, ...]]:
    """Every NVIDIA display device, in bus order."""
    evidence = source.file("/proc/bus/pci/devices")
    reading = parsed("PCI devices", evidence, nvidia_devices)
    if not reading.present:
        return reading
    gpus = tuple(device for device in reading.value or () if _is_display(source, device))
    return present("PCI devices", gpus, evidence, _quoted(evidence.text, gpus))


def nvidia_devices(text: str) -> tuple[PciDevice, ...]:
    r"""NVIDIA devices of /proc/bus/pci/devices that may be GPUs; only function 0 of each.

    A line is bus and device-function, vendor and device, interrupt, 14 addresses and sizes, and the driver if any.

    >>> row = "0100\t10de2684\t9e" + "\t0" * 14
    >>> nvidia_devices(row + "\tnvidia\n" + "0101\t10de22ba\t11" + "\t0" * 14 + "\tsnd_hda_intel")
    (PciDevice(address='01:00.0', device_id='10de:2684', driver='nvidia'),)
    """
    devices = [_device(line) for line in text.splitlines() if line.strip()]
    return tuple(
        device
        for device in devices
        if device.device_id.startswith(NVIDIA) and device.address.endswith(".0") and device.driver not in OTHER_DRIVERS
    )


def _device(line: str) -> PciDevice:
    columns = [column.strip() for column in line.split("\t")]
    place, identity = int(columns[0], 16), columns[1]
    bus, slot, function = place >> 8, place >> 3 & 0x1F, place & 7
    return PciDevice(
        address=f"{bus:02x}:{slot:02x}.{function}",
        device_id=f"{identity[:4]}:{identity[4:]}",
        driver=columns[17] if len(columns) > 17 else "",
    )


def _is_display(source: Source, device: PciDevice) -> bool:
    """Whether /sys says it is a display device; a device /sys does not describe is taken for one."""
    answer = source.file(f"/sys/bus/pci/devices/0000:{device.address}/class")
    return answer.status is not Status.OK or answer.text.startswith(DISPLAY_CLASS)


def _quoted(text: str, gpus: tuple[PciDevice, ...]) -> str:
    """The lines about these devices, or the first of all where there are none, without addresses and sizes."""
    lines = [line.split("\t") for line in text.splitlines()]
    shown = [line for line in lines if line[0].strip() in {_place(gpu) for gpu in gpus}] or lines
    words = [" ".join(column.strip() for column in (*line[:2], *line[17:])).strip() for line in shown]
    return "\n".join((*words[:MAX_QUOTED], *(("...",) if words[MAX_QUOTED:] else ()))) or "(empty)"


def _place(device: PciDevice) -> str:
    """Bus and device-function as /proc writes them.

    >>> _place(PciDevice(address="41:1f.0", device_id="", driver=""))
    '41f8'
    """
    bus, _, rest = device.address.partition(":")
    slot, _, function = rest.partition(".")
    return f"{bus}{int(slot, 16) << 3 | int(function):02x}"
