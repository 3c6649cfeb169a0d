"""File systems and disks, from the machine itself or from pasted df, iostat and lsblk."""

from collections.abc import Sequence

from msgspec.structs import replace

from rigwise.probes.answers import parsed
from rigwise.probes.host import df, diskstats, fio, iostat, lsblk
from rigwise.probes.host.columns import derived, first_present
from rigwise.probes.host.counter_looks import Looks
from rigwise.records.deep import DiskSpeed
from rigwise.records.evidence import Status
from rigwise.records.host import Disk, FileSystem, Storage
from rigwise.records.reading import Reading, not_asked
from rigwise.sources.source import Source

DF_LIMIT_SECONDS = 3.0
"""`df` waits for ever on a dead network file system."""


def read_storage(source: Source, looks: Looks) -> Storage:
    """File systems, and how busy the disks are."""
    return Storage(
        working_place=_working_place(source),
        file_systems=_file_systems(source),
        disks=_described(source, _disks(source, looks)),
        measured=not_asked("disk speed") if looks.answered else _measured(source),
    )


def _measured(source: Source) -> Reading[DiskSpeed]:
    """What fio measured, where somebody ran it."""
    return parsed("disk speed", source.command(["fio"], key="fio"), fio.disk_speed)


def _working_place(source: Source) -> Reading[FileSystem]:
    """The file system of the current folder, with its inodes."""
    name = "file system of the current folder"
    sizes, inodes = (
        source.command(["df", option, "."], key=f"df {option} .", timeout_seconds=DF_LIMIT_SECONDS)
        for option in ("-PT", "-Pi")
    )
    more = f"\n{inodes.text}" if inodes.status is Status.OK else ""
    found = parsed(name, sizes, lambda text: df.file_systems(text + more))
    return derived(found, name, lambda systems: systems[0])


def _file_systems(source: Source) -> Reading[tuple[FileSystem, ...]]:
    """All of them; of a machine only the local ones."""
    name = "file systems"
    shown = source.command(["df", "-PTl"], key="df", timeout_seconds=DF_LIMIT_SECONDS)
    mounts = source.file("/proc/mounts")
    if shown.status is Status.FAILED and "Filesystem" in shown.text:
        shown = replace(shown, status=Status.OK)  # one file system that cannot be asked fails the whole command
    return first_present(parsed(name, shown, df.file_systems), parsed(name, mounts, df.mounts))


def _disks(source: Source, looks: Looks) -> Reading[tuple[Disk, ...]]:
    name = "disks"
    counters = source.file("/proc/diskstats")
    if looks.answered:
        twice = parsed(name, looks.of("/proc/diskstats"), lambda text: diskstats.disks(text, looks.seconds))
        return first_present(twice, parsed(name, counters, diskstats.disks))
    return first_present(
        parsed(name, source.command(["iostat"], key="iostat"), iostat.disks),
        parsed(name, counters, diskstats.disks),
        parsed(name, source.command(["lsblk"], key="lsblk"), lsblk.disks),
    )


def _described(source: Source, disks: Reading[tuple[Disk, ...]]) -> Reading[tuple[Disk, ...]]:
    """The disks with model and kind."""
    known = parsed("disks", source.command(["lsblk", "-dno", "NAME,ROTA,MODEL"], key="lsblk"), lsblk.disks).value or ()
    return derived(disks, "disks", lambda found: tuple(_with_model(source, disk, known) for disk in found))


def _with_model(source: Source, disk: Disk, known: Sequence[Disk]) -> Disk:
    listed = next((one for one in known if one.name == disk.name), disk)
    spinning = parsed("kind of disk", source.file(f"/sys/block/{disk.name}/queue/rotational"), bool_number)
    model = parsed("model", source.file(f"/sys/block/{disk.name}/device/model"), str.strip).value or listed.model
    rotational = listed.rotational if spinning.value is None else spinning.value
    return replace(disk, model=model, rotational=None if is_virtual(disk.name, model) else rotational)


def bool_number(text: str) -> bool:
    r"""Whether a file of /sys holds 1 rather than 0.

    >>> bool_number("1\n"), bool_number("0\n")
    (True, False)
    """
    return int(text) > 0


def is_virtual(name: str, model: str) -> bool:
    """Whether a hypervisor makes up the disk: what it says of itself then is no fact.

    >>> is_virtual("vda", ""), is_virtual("sda", "Virtual Disk"), is_virtual("sda", "ST4000DM004")
    (True, True, False)
    """
    words = ("virtual", "qemu", "vbox", "vmware", "persistentdisk")
    return name.startswith(("vd", "xvd")) or any(word in model.lower() for word in words)
