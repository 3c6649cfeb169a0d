"""The driver as the kernel holds it, and the device files through which programs reach it."""

import re

from rigwise.probes.answers import parsed
from rigwise.records.reading import Reading
from rigwise.sources.source import Source


def read_kernel_driver_version(source: Source) -> Reading[str]:
    """Version of the loaded kernel module."""
    return parsed("kernel module version", source.file("/proc/driver/nvidia/version"), kernel_module_version)


def kernel_module_version(text: str) -> str:
    """The version in /proc/driver/nvidia/version, for the closed and the open module alike.

    >>> kernel_module_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024")
    '550.54.14'
    >>> kernel_module_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build")
    '570.124.06'
    """
    found = re.search(r"Kernel Module.*?\s(\d{3}\.\d+(?:\.\d+)?)\s", text + " ")
    if found is None:
        raise ValueError(text)
    return found[1]


def read_device_node(source: Source, path: str = "/dev/nvidiactl") -> Reading[str]:
    """What a device file is to this user: `character device, readable and writable`."""
    return parsed(f"device file {path}", source.file(path), str.strip)
