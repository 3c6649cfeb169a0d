"""The driver as the kernel holds it, and the device files through which programs reach it."""

import re

from rigwise.probes.answers import parsed
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, absent, present
from rigwise.sources.source import Source

KERNEL_DRIVER = "/proc/driver/nvidia/version"
DEVICES_KEY = "ls /dev"
_DEVICE_LINE = re.compile(
    r"^[ \t]*c([rwxs-]{9})\S?\s.*/dev/(\S+)|^[ \t]*c([rwxs-]{9})\S?\s.*\s(nvidia\S*)[ \t]*$", re.MULTILINE
)
_NO_DEVICES = re.compile(r"cannot access '?/dev/nvidia|No such file or directory")


def read_kernel_driver_version(source: Source) -> Reading[str]:
    """Version of the loaded kernel module."""
    return parsed("kernel module version", source.file(KERNEL_DRIVER), kernel_module_version)


def kernel_module_version(text: str) -> str:
    """The version in /proc/driver/nvidia/version, for the closed and the open module alike.

    >>> kernel_module_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024")
    '550.54.14'
    >>> kernel_module_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build")
    '570.124.06'
    """
    found = re.search(r"Kernel Module[^\n]{0,200}?\s(\d{3}\.\d+(?:\.\d+)?)\s", text + " ")
    if found is None:
        raise ValueError(text)
    return found[1]


def read_open_module(source: Source) -> Reading[bool]:
    """Whether the loaded NVIDIA module is the open one; where none is loaded, the one that `modinfo` finds."""
    name = "kind of the NVIDIA kernel module"
    loaded = source.file(KERNEL_DRIVER)
    if loaded.status is Status.OK:
        line = next((one for one in loaded.text.splitlines() if "Kernel Module" in one), "")
        return parsed(name, loaded, lambda text: "Open Kernel Module" in text, line or None)
    return parsed(name, source.command(["modinfo", "nvidia"], timeout_seconds=3.0), _is_open)


def read_module_on_disk(source: Source) -> Reading[str]:
    """Version of the module that the next restart loads (`modinfo nvidia`)."""
    answer = source.command(["modinfo", "nvidia"], timeout_seconds=3.0)
    return parsed("version of the NVIDIA kernel module on disk", answer, module_version)


def module_version(text: str) -> str:
    r"""The version in `modinfo nvidia`.

    >>> module_version("filename: nvidia.ko.zst\nversion:        580.95.05\nlicense: NVIDIA")
    '580.95.05'
    """
    found = re.search(r"^version:\s*(\d{3}\.[\d.]+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(text)
    return found[1]


def _is_open(text: str) -> bool:
    r"""Whether `modinfo nvidia` describes the open module, by its licence.

    >>> _is_open("version: 570.86\nlicense:        Dual MIT/GPL"), _is_open("license:        NVIDIA")
    (True, False)
    """
    found = re.search(r"^license:\s*(.*)", text, re.MULTILINE)
    if found is None:
        raise ValueError(text)
    return "GPL" in found[1]


def read_loaded_modules(source: Source) -> Reading[tuple[str, ...]]:
    """Names of the loaded kernel modules, from /proc/modules or `lsmod`."""
    name = "kernel modules"
    file = source.file("/proc/modules")
    if file.status is not Status.NOT_RECORDED:
        return parsed(name, file, module_names)
    return parsed(name, source.command(["lsmod"]), module_names)


def module_names(text: str) -> tuple[str, ...]:
    r"""Names in /proc/modules or `lsmod`, each once.

    >>> module_names("nvidia 56711168 1 nvidia_uvm, Live 0x0\nsnd 1 0 - Live 0x0")
    ('nvidia', 'snd')
    >>> module_names("Module                  Size  Used by\nnvidia_uvm   4939776  0")
    ('nvidia_uvm',)
    """
    found = re.findall(r"^(\w+)\s+\d+\s+-?\d+", text, re.MULTILINE)
    return tuple(dict.fromkeys(found))


def read_device_node(source: Source, path: str = "/dev/nvidiactl") -> Reading[str]:
    """What a device file is to this user: `character device, readable and writable`."""
    name = f"device file {path}"
    answer = source.file(path)
    if answer.status is not Status.NOT_RECORDED:
        return parsed(name, answer, str.strip)
    listing = source.command(["ls", "-l", "/dev"], key=DEVICES_KEY, timeout_seconds=3.0)
    return _listed_node(name, path, answer, listing)


def _listed_node(name: str, path: str, answer: Evidence, listing: Evidence) -> Reading[str]:
    """The device file in a listing of the NVIDIA devices, which tells nothing of other devices."""
    if listing.status is not Status.OK or not path.startswith("/dev/nvidia"):
        return absent(name, answer)
    permissions = parsed(name, listing, device_permissions)
    if permissions.value is None:
        return absent(name, listing, permissions.status)
    words = permissions.value.get(path.removeprefix("/dev/"))
    if words is None:
        return absent(name, listing, Status.NOT_FOUND)
    return present(name, f"character device, {words}", listing, path)


def device_permissions(text: str) -> dict[str, str]:
    """What each NVIDIA device of `ls -l /dev/nvidia*` is to a user who neither owns it nor is in its group.

    >>> device_permissions("crw-rw-rw- 1 root root 195, 255 Nov 30 10:00 /dev/nvidiactl")
    {'nvidiactl': 'readable and writable'}
    """
    devices = {found[2] or found[4]: found[1] or found[3] for found in _DEVICE_LINE.finditer(text)}
    if not devices and not _NO_DEVICES.search(text):
        raise ValueError(text)
    return {name: _access(mode) for name, mode in devices.items()}


def _access(mode: str) -> str:
    """What everybody may do; devices of a group are taken for open, since who asked is not known."""
    if mode[6:8] == "rw" or mode[3:5] == "rw":
        return "readable and writable"
    return "not readable, not writable"


def read_device_files(source: Source) -> Reading[tuple[str, ...]]:
    """Names of NVIDIA's files in /dev: `nvidia0`, `nvidia-uvm`."""
    name = "NVIDIA device files"
    folder = source.file("/dev")
    if folder.status is not Status.NOT_RECORDED:
        found = [line for line in folder.text.split() if line.startswith("nvidia")]
        reading = parsed(name, folder, lambda _text: tuple(found))
        return present(name, tuple(found), folder, " ".join(found) or "no nvidia*") if reading.present else reading
    listing = source.command(["ls", "-l", "/dev"], key=DEVICES_KEY, timeout_seconds=3.0)
    return parsed(name, listing, lambda text: tuple(device_permissions(text)))
