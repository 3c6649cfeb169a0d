"""Docker, Podman and containerd, and how they pass GPUs through."""

import re
from typing import Any

import msgspec

from rigwise.probes.answers import parsed
from rigwise.probes.software.docker import info_fields, inspected_containers, memory_uses
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, absent, present
from rigwise.records.software import Container, ContainerEngine
from rigwise.sources.source import Source

INFO_LIMIT_SECONDS = 3.0
RUNNING = ("/run/docker.pid", "/run/snap.docker/docker.pid")
"""Without one of these no daemon runs; asking would start one where systemd listens for it."""
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
NO_SUCH_FOLDER = (Status.NOT_FOUND, Status.NOT_RECORDED)
TOOLKIT_CONFIG = "/etc/nvidia-container-runtime/config.toml"
DAEMON_CONFIG = "/etc/docker/daemon.json"
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class _DaemonConfig(msgspec.Struct):
    runtimes: dict[str, Any] = {}


def read_container_engine(source: Source) -> ContainerEngine:
    """The container engine of the machine, or as a person described it."""
    info = _docker_info(source)
    return ContainerEngine(
        version=_field("container engine", info, "Server Version"),
        runtimes=_runtimes(source, info),
        default_runtime=_field("default container runtime", info, "Default Runtime"),
        storage_driver=_field("container storage driver", info, "Storage Driver"),
        root_folder=_field("container root folder", info, "Docker Root Dir"),
        cdi_devices=_cdi_devices(source, info),
        toolkit_version=read_toolkit_version(source),
        no_cgroups=parsed("no-cgroups of the NVIDIA Container Toolkit", source.file(TOOLKIT_CONFIG), no_cgroups),
        containers=read_containers(source),
        memory_uses=parsed("RAM of the containers", source.command([], key="docker stats"), memory_uses),
        shm_size_bytes=read_shm_size(source),
    )


def _docker_info(source: Source) -> Evidence:
    """The daemon's answer about itself; where none runs there is nothing to ask."""
    pids = [source.file(path) for path in RUNNING]
    if all(pid.status is Status.NOT_FOUND for pid in pids):
        return msgspec.structs.replace(pids[0], status=Status.NOT_SUPPORTED)
    argv = ["docker", "info", "--format", "{{json .}}"]
    return source.command(argv, key="docker info", timeout_seconds=INFO_LIMIT_SECONDS)


def _field(name: str, info: Evidence, field: str) -> Reading[str]:
    reading = parsed(name, info, lambda text: info_fields(text)[field])
    if not reading.value:
        return absent(name, info, Status.NOT_RECORDED) if reading.present else reading
    return present(name, reading.value, info, f"{field}: {reading.value}")


def _runtimes(source: Source, info: Evidence) -> Reading[tuple[str, ...]]:
    """The runtimes that the daemon knows; where it was not asked, those of its configuration and its own."""
    name = "container runtimes"
    told = _field(name, info, "Runtimes")
    if told.value is not None:
        return present(name, tuple(told.value.split()), info, told.quote.text)
    config = source.file(DAEMON_CONFIG)
    if config.status is Status.OK:
        return parsed(name, config, configured_runtimes)
    return absent(name, info)


def configured_runtimes(text: str) -> tuple[str, ...]:
    """The runtimes of daemon.json, after the one that every daemon has.

    >>> configured_runtimes('{"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}')
    ('runc', 'nvidia')
    """
    return "runc", *msgspec.json.decode(text.strip() or "{}", type=_DaemonConfig).runtimes


def _cdi_devices(source: Source, info: Evidence) -> Reading[tuple[str, ...]]:
    name = "CDI specifications of NVIDIA"
    told = _field(name, info, "Discovered Devices")
    if told.value:
        return present(name, tuple(told.value.split()), info, told.quote.text)
    folders = [source.file(path) for path in CDI_FOLDERS]
    files = [file for folder in folders if folder.status is Status.OK for file in folder.text.split()]
    nvidia = tuple(file for file in files if "nvidia" in file)
    if nvidia:
        return present(name, nvidia, folders[0], " ".join(nvidia))
    hidden = next((folder for folder in folders if folder.status not in (Status.OK, *NO_SUCH_FOLDER)), None)
    if hidden is not None or all(folder.status is Status.NOT_RECORDED for folder in folders):
        return absent(name, hidden or folders[0])
    return present(name, (), folders[0], f"no NVIDIA file in {' or '.join(CDI_FOLDERS)}")


def read_toolkit_version(source: Source) -> Reading[str]:
    """Version of the NVIDIA Container Toolkit."""
    name = "NVIDIA Container Toolkit"
    answer = source.command(["nvidia-ctk", "--version"], timeout_seconds=INFO_LIMIT_SECONDS)
    if answer.status is Status.NOT_RECORDED:
        older = source.command(["nvidia-container-cli", "info"], timeout_seconds=INFO_LIMIT_SECONDS)
        answer = older if older.status is not Status.NOT_RECORDED else answer
    return parsed(name, answer, toolkit_version)


def toolkit_version(text: str) -> str:
    """The version that `nvidia-ctk --version` prints; of `nvidia-container-cli info`, which prints none, "?".

    >>> toolkit_version("NVIDIA Container Toolkit CLI version 1.17.8"), toolkit_version("NVRM version:   570.133.20")
    ('1.17.8', '?')
    """
    found = re.search(r"version\s+(\d+\.\d+[\w.-]*)", text)
    if found:
        return found[1]
    if "NVRM version" in text:
        return "?"
    raise ValueError(text)


def no_cgroups(text: str) -> bool:
    r"""Whether the toolkit's configuration sets `no-cgroups`, which is off unless it says otherwise.

    >>> no_cgroups('[nvidia-container-cli]\nno-cgroups = true\n'), no_cgroups("#no-cgroups = false")
    (True, False)
    """
    return re.search(r"^[ \t]*no-cgroups[ \t]*=[ \t]*true", text, re.MULTILINE) is not None


def read_containers(source: Source) -> Reading[tuple[Container, ...]]:
    """Containers that a person inspected; a live machine is not asked about its containers."""
    answer = source.file("/run/docker.pid")
    if answer.status is not Status.NOT_RECORDED:
        return absent("containers", answer, Status.NOT_RECORDED)
    inspected = source.command([], key="docker inspect")
    reading = parsed("containers", inspected, inspected_containers)
    if reading.value is None:
        return reading
    shown = ", ".join(f"{one.name}: ShmSize {one.shm_size_bytes}, Runtime {one.runtime}" for one in reading.value[:4])
    return present("containers", reading.value, inspected, shown or "no container")


def read_shm_size(source: Source) -> Reading[int]:
    """Size of /dev/shm, where its mount names one; a host leaves it at half of the RAM without naming it."""
    answer = source.file("/proc/mounts")
    lines = [line for line in answer.text.splitlines() if " /dev/shm " in line]
    return parsed("size of /dev/shm", answer, lambda _text: shm_size(lines[-1]), lines[-1] if lines else None)


def shm_size(line: str) -> int:
    """The size that a mount line names, in bytes.

    >>> shm_size("shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k,inode64 0 0")
    67108864
    """
    found = re.search(r"\bsize=(\d+)([kmg]?)", line)
    if found is None:
        raise LookupError(line)
    return int(found[1]) * UNITS[found[2]]
