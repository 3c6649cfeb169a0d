"""Toolkits, kernel module and packages below the frameworks."""

import re

from rigwise.probes.answers import parsed
from rigwise.probes.software.collect_env import collected
from rigwise.probes.software.driver import KERNEL_DRIVER, read_device_files, read_module_on_disk, read_open_module
from rigwise.probes.software.packages import system_packages
from rigwise.records.evidence import Status
from rigwise.records.reading import Reading, present
from rigwise.records.software import Package, Stack
from rigwise.sources.source import Source

LIMIT_SECONDS = 3.0
RESTART_PACKAGES = "/run/reboot-required.pkgs"
"""Written by update-notifier-common and unattended-upgrades (Debian, Ubuntu)."""


def read_stack(source: Source) -> Stack:
    """The software below the frameworks. What only explains a missing driver is asked only where none is loaded."""
    loaded = source.file(KERNEL_DRIVER).status is Status.OK
    unasked = Stack()
    return Stack(
        nvcc_version=read_nvcc_version(source),
        toolkits=read_toolkits(source),
        open_module=read_open_module(source),
        module_on_disk=read_module_on_disk(source),
        restart_packages=read_restart_packages(source),
        module_builds=unasked.module_builds if loaded else read_module_builds(source),
        driver_packages=unasked.driver_packages if loaded else read_driver_packages(source),
        device_files=read_device_files(source),
    )


def read_restart_packages(source: Source) -> Reading[tuple[str, ...]]:
    """Packages whose update asks for a restart, each once, sorted."""
    name, answer = "packages that wait for a restart", source.file(RESTART_PACKAGES)
    return parsed(name, answer, lambda text: tuple(sorted(set(text.split()))))


def read_nvcc_version(source: Source) -> Reading[str]:
    """CUDA version of the first nvcc on the path, or as collect_env saw it."""
    answer = source.command(["nvcc", "--version"], timeout_seconds=LIMIT_SECONDS)
    reported = source.command([], key="collect_env") if answer.status is Status.NOT_RECORDED else answer
    if reported.key == "collect_env" and reported.status is Status.OK:
        return parsed("nvcc version", reported, _reported_nvcc)
    return parsed("nvcc version", answer, nvcc_version)


def nvcc_version(text: str) -> str:
    """The release of `nvcc --version`.

    >>> nvcc_version("Cuda compilation tools, release 12.4, V12.4.131")
    '12.4'
    """
    found = re.search(r"release\s+(\d+\.\d+)", text)
    if found is None:
        raise ValueError(text)
    return found[1]


def _reported_nvcc(text: str) -> str:
    """Major and minor of the "CUDA runtime version" of collect_env, which is nvcc's."""
    found = re.match(r"\d+\.\d+", collected(text).nvcc_version)
    if found is None:
        raise ValueError(text)
    return found[0]


def read_toolkits(source: Source) -> Reading[tuple[str, ...]]:
    """Versions of the toolkits under /usr/local, oldest first."""
    return parsed("CUDA toolkits", source.file("/usr/local"), toolkit_versions)


def toolkit_versions(names: str) -> tuple[str, ...]:
    r"""Versions in the names of folders.

    >>> toolkit_versions("bin\ncuda\ncuda-12\ncuda-12.4\ncuda-11.8\nlib")
    ('11.8', '12.4')
    """
    found = re.findall(r"^cuda-(\d+\.\d+)$", names, re.MULTILINE)
    return tuple(sorted(found, key=lambda version: [int(part) for part in version.split(".")]))


def read_module_builds(source: Source) -> Reading[tuple[str, ...]]:
    """Lines of `dkms status` about NVIDIA's module: `nvidia/570.124.06, 6.8.0-45-generic, x86_64: installed`."""
    answer = source.command(["dkms", "status"], timeout_seconds=LIMIT_SECONDS)
    lines = tuple(line.strip() for line in answer.text.splitlines() if line.strip().startswith("nvidia"))
    return parsed("DKMS modules", answer, lambda _text: lines, "\n".join(lines) or "no nvidia module")


def read_driver_packages(source: Source) -> Reading[tuple[Package, ...]]:
    """Packages of the driver that the system's package manager has installed."""
    answer = source.command(["dpkg", "-l"], timeout_seconds=LIMIT_SECONDS)
    reading = parsed("driver packages", answer, system_packages)
    if reading.value is None:
        return reading
    named = ", ".join(f"{one.name} {one.version}" for one in reading.value[:6])
    return present("driver packages", reading.value, answer, named or "no NVIDIA package")
