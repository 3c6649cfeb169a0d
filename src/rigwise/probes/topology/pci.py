"""NVIDIA display devices on the PCI bus, whether or not a driver claims them."""

from rigwise.probes.answers import parsed
from rigwise.probes.topology.lspci import Device, parse_devices
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, absent, present
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
    if evidence.status is Status.NOT_RECORDED:
        return _from_lspci(source, evidence)
    reading = parsed("PCI devices", evidence, nvidia_devices)
    if not reading.present:
        return reading
    gpus = tuple(device for device in reading.value or () if _is_display(source, device))
    return present("PCI devices", gpus, evidence, _quoted(evidence.text, gpus))


def _from_lspci(source: Source, unrecorded: Evidence) -> Reading[tuple[PciDevice, ...]]:
    """The GPUs that `lspci` lists; that there is none only where the list is not one of NVIDIA's devices alone."""
    listing = source.command(["lspci", "-nnk"], key="lspci", timeout_seconds=5.0)
    if listing.status is not Status.OK:
        return absent("PCI devices", unrecorded)
    return parsed("PCI devices", listing, lambda _quoted: listed_gpus(listing.text), _quoted_listing(listing.text))


def listed_gpus(text: str) -> tuple[PciDevice, ...]:
    r"""The NVIDIA GPUs of `lspci`.

    Raises:
        LookupError: it lists none, and may have been asked for something else.

    >>> text = "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684]\n"
    >>> listed_gpus(text + "\tKernel driver in use: nouveau")[0].driver
    'nouveau'
    >>> listed_gpus("00:00.0 Host bridge: Intel Corporation Device a700\n00:02.0 VGA compatible controller: Intel UHD")
    ()
    """
    devices = parse_devices(text)
    gpus = tuple(_listed(device) for device in devices if device.is_nvidia_gpu)
    if not gpus and not any("Host bridge" in device.description for device in devices):
        raise LookupError(text)
    return gpus


def _listed(device: Device) -> PciDevice:
    told = any(line.startswith(("Kernel driver in use", "Kernel modules", "Subsystem")) for line in device.lines)
    return PciDevice(
        address=device.address.removeprefix("0000:"),
        device_id=device.device_id,
        driver=device.driver,
        driver_told=told,
        answers="(rev ff)" not in device.description,
    )


def _quoted_listing(text: str) -> str:
    lines = [line for line in text.splitlines() if "NVIDIA" in line or "Kernel driver in use: n" in line]
    return "\n".join(lines[:MAX_QUOTED]) or "(no NVIDIA device)"


def nvidia_devices(text: str) -> tuple[PciDevice, ...]:
    r"""NVIDIA devices of /proc/bus/pci/devices that may be GPUs; only function 0 of each.

    A line is bus and device-function, vendor and device, interrupt, 14 addresses and sizes, and the driver if any.

    >>> row = "0100\t10de2684\t9e" + "\t0" * 14
    >>> (gpu,) = nvidia_devices(row + "\tnvidia\n" + "0101\t10de22ba\t11" + "\t0" * 14 + "\tsnd_hda_intel")
    >>> gpu.address, gpu.device_id, gpu.driver
    ('01:00.0', '10de:2684', 'nvidia')
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
