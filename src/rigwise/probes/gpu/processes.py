"""Names and users of processes that hold VRAM, from /proc; only for the PIDs the driver names."""

from functools import cache

import msgspec

from rigwise.probes.answers import line_with
from rigwise.records.evidence import Status
from rigwise.records.gpu import Gpu, GpuProcess
from rigwise.records.reading import Reading
from rigwise.sources.source import Source


def name_processes(source: Source, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """The GPUs with their processes named, as far as /proc names them."""
    users = cache(lambda: user_names(_text(source, "/etc/passwd")))

    def named(process: GpuProcess) -> GpuProcess:
        status = _text(source, f"/proc/{process.pid}/status")
        uid = user_id(status)
        return msgspec.structs.replace(
            process,
            name=_text(source, f"/proc/{process.pid}/comm").strip() or process.name,
            user=users().get(uid, uid) if uid else process.user,
        )

    return tuple(
        msgspec.structs.replace(gpu, processes=_each(gpu.processes, tuple(map(named, gpu.processes.value))))
        if gpu.processes.value
        else gpu
        for gpu in gpus
    )


def _each(reading: Reading[tuple[GpuProcess, ...]], value: tuple[GpuProcess, ...]) -> Reading[tuple[GpuProcess, ...]]:
    return msgspec.structs.replace(reading, value=value)


def _text(source: Source, path: str) -> str:
    evidence = source.file(path)
    return evidence.text if evidence.status is Status.OK else ""


def user_id(status: str) -> str:
    r"""The real user id in /proc/PID/status, "" where it does not say.

    >>> user_id("Name:\tpython\nUid:\t1000\t1000\t1000\t1000\n"), user_id("")
    ('1000', '')
    """
    try:
        return line_with(status, "Uid:").split()[1]
    except LookupError:
        return ""


def user_names(passwd: str) -> dict[str, str]:
    r"""User names by user id, from /etc/passwd.

    >>> user_names("root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000::/home/ada:/bin/sh")
    {'0': 'root', '1000': 'ada'}
    """
    fields = [line.split(":") for line in passwd.splitlines()]
    return {field[2]: field[0] for field in fields if len(field) > 2}
