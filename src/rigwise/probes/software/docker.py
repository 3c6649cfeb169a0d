"""What `docker info` and `docker inspect` say, as text or as JSON."""

import json
import re
from typing import Any

import msgspec

from rigwise.probes.host.columns import size_bytes
from rigwise.records.software import Container, ContainerMemory

NANO = 1_000_000_000
PERIOD_MICROSECONDS = 100_000
"""Docker's own CpuPeriod where none is set."""
STATS_LINE = re.compile(
    r"^\s{0,8}[0-9a-f]{12}\s+(\S{1,128})\s.{0,40}?([\d.]{1,9})([KMGT]?)iB / ([\d.]{1,9})([KMGT]?)iB\b"
)


def info_fields(text: str) -> dict[str, str]:
    r"""The answer of `docker info` by field, lists as words: `Runtimes`, `Storage Driver`, `Docker Root Dir`.

    >>> info_fields("Server:\n Server Version: 29.4.0\n Runtimes: io.containerd.runc.v2 nvidia runc\n")["Runtimes"]
    'io.containerd.runc.v2 nvidia runc'
    >>> info_fields('{"ServerVersion":"29.4.0","Runtimes":{"runc":{},"nvidia":{}}}')["Runtimes"]
    'runc nvidia'
    """
    if text.lstrip().startswith("{"):
        return _fields_of_json(text)
    if "Server Version:" not in text and "Runtimes:" not in text:
        raise ValueError(text)
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.strip().partition(":")
        if colon and len(name) < 40:
            fields.setdefault(name.strip(), value.strip())
    fields["Discovered Devices"] = " ".join(re.findall(r"\bcdi:\s*(nvidia\.com/\S+)", text))
    return fields


class _Info(msgspec.Struct, rename="pascal"):
    server_version: str = ""
    default_runtime: str = ""
    driver: str = ""
    docker_root_dir: str = ""
    runtimes: dict[str, Any] | None = None
    discovered_devices: list[dict[str, Any]] | None = None


def _fields_of_json(text: str) -> dict[str, str]:
    info = msgspec.json.decode(text, type=_Info)
    if not info.server_version:
        raise ValueError(text)
    devices = [str(one.get("ID", "")) for one in info.discovered_devices or ()]
    return {
        "Server Version": info.server_version,
        "Default Runtime": info.default_runtime,
        "Storage Driver": info.driver,
        "Docker Root Dir": info.docker_root_dir,
        "Runtimes": " ".join(info.runtimes or ()),
        "Discovered Devices": " ".join(one for one in devices if one.startswith("nvidia.com/")),
    }


class _Device(msgspec.Struct, rename="pascal"):
    path_on_host: str = ""


class _HostConfig(msgspec.Struct, rename="pascal"):
    runtime: str = ""
    shm_size: int | None = None
    ipc_mode: str = ""
    nano_cpus: int | None = None
    cpu_quota: int | None = None
    cpu_period: int | None = None
    device_requests: list[Any] | None = None
    devices: list[_Device] | None = None

    @property
    def gpus_asked(self) -> bool:
        """Whether it was started with GPUs, by whichever way."""
        files = [device.path_on_host for device in self.devices or ()]
        return bool(self.device_requests) or self.runtime == "nvidia" or any("/dev/nvidia" in path for path in files)

    @property
    def num_cpus(self) -> float | None:
        """How many CPUs its quota allows."""
        if self.nano_cpus:
            return self.nano_cpus / NANO
        if self.cpu_quota and self.cpu_quota > 0:
            return self.cpu_quota / (self.cpu_period or PERIOD_MICROSECONDS)
        return None


class _Config(msgspec.Struct, rename="pascal"):
    image: str = ""


class _Inspected(msgspec.Struct, rename="pascal"):
    host_config: _HostConfig
    name: str = ""
    config: _Config = msgspec.field(default_factory=_Config)


def inspected_containers(text: str) -> tuple[Container, ...]:
    r"""The containers of `docker inspect`; () where it describes something else.

    >>> inspected_containers('[{"Name": "/train", "HostConfig": {"ShmSize": 67108864}}]')[0].shm_size_bytes
    67108864
    """
    found: list[Container] = []
    position = text.find("[")
    while position >= 0:
        entries, end = json.JSONDecoder().raw_decode(text, position)
        found += [_container(one) for one in entries if isinstance(one, dict) and "HostConfig" in one]
        position = text.find("[", end)
    return tuple(found)


def _container(answer: dict[str, Any]) -> Container:
    described = msgspec.convert(answer, _Inspected, strict=False)
    host = described.host_config
    return Container(
        name=described.name.lstrip("/"),
        image=described.config.image,
        runtime=host.runtime,
        gpus_asked=host.gpus_asked,
        shm_size_bytes=host.shm_size,
        ipc_mode=host.ipc_mode,
        num_cpus_limit=host.num_cpus,
    )


def memory_uses(text: str) -> tuple[ContainerMemory, ...]:
    """The containers of `docker stats`; of several looks the last one of each.

    >>> memory_uses("9f3c0a1b2c3d   trainer   201.33%   1.5GiB / 16GiB   9.38%   3.15GB / 80.1MB   61")
    (ContainerMemory(name='trainer', used_bytes=1610612736, limit_bytes=17179869184),)

    Raises:
        LookupError: there is no container.
    """
    found = [line for line in map(STATS_LINE.match, text.splitlines()) if line]
    if not found:
        raise LookupError("CONTAINER ID")
    uses = (
        ContainerMemory(
            name=line[1], used_bytes=size_bytes(line[2] + line[3]), limit_bytes=size_bytes(line[4] + line[5])
        )
        for line in found
    )
    return tuple({one.name: one for one in uses}.values())
