"""What the kernel log and the fabric manager reported, one event per line that matters (T12)."""

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from rigwise.records.evidence import Quote, Status
from rigwise.records.reading import Reading

KERNEL_LOG = "kernel log"
MAX_QUOTED_CHARACTERS = 500
"""A line of a log is shorter; what is longer is cut where it is shown."""
DATED_SECONDS = 1e9
"""Event times past it are seconds since 1970; smaller ones count from the machine's start, or lack the year."""
_ADDRESS = re.compile(
    r"\b(?P<domain>[0-9a-fA-F]{4,8}):(?P<bus>[0-9a-fA-F]{2}):(?P<device>[01][0-9a-fA-F])(?![0-9a-fA-F])"
    r"|(?<![:\w])(?P<short_bus>[0-9a-fA-F]{2}):(?P<short_device>[01][0-9a-fA-F])\.[0-7](?!\d)"
)


class EventKind(StrEnum):
    """What a line reports."""

    XID = "xid"
    """The driver's error report of a GPU; the code is its number."""
    SXID = "sxid"
    """The driver's, or the fabric manager's, error report of an NVSwitch; the code is its number."""
    FALLEN = "fallen"
    """A GPU fell off the bus, said without the word Xid."""
    INIT_FAILED = "init_failed"
    """The driver found a GPU and could not start it."""
    POWER = "power"
    """A card says that its power plugs are not connected."""
    AER = "aer"
    """PCI Express Advanced Error Reporting."""
    LINK_DOWN = "link_down"
    """A PCIe slot lost its card."""
    THERMAL = "thermal"
    """A CPU or the board got too hot."""
    MACHINE_CHECK = "machine_check"
    """CPU, cache or RAM reported an error (MCE, EDAC, APEI)."""
    OOM_KILL = "oom_kill"
    """The kernel, or systemd-oomd, ended a process for want of RAM; the subject is the process."""
    OOM_LIMIT = "oom_limit"
    """The line beside it that names the control group or its limit; the subject is the group."""
    HUNG_TASK = "hung_task"
    """A process waits in the kernel for minutes, or the kernel crashed in its name; the subject is the process."""
    CRASH = "crash"
    """A program crashed inside a library; the subject is the library."""
    PEERMEM = "peermem"
    """GPUDirect RDMA reported an error."""
    DISK = "disk"
    """A disk or file system reported an error; the subject is the device."""
    FILE_SERVER = "file_server"
    """A server of a network file system does not answer, or does so again; the subject is the server."""
    IOMMU = "iommu"
    """The IOMMU refused a transfer."""
    DRIVER_LOADED = "driver_loaded"
    """The NVIDIA driver was loaded; the subject is its version."""
    BOOT = "boot"
    """The machine started."""


class LogEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a log."""

    kind: EventKind
    code: int | None = None
    """Xid or SXid number; the PID of a process that was ended."""
    address: str = ""
    """PCI address of the device as `pci_address` writes it, or "" where the line names none."""
    seconds: float | None = None
    """Time on the log's own scale, to order and group events; None where the line has none."""
    line: str
    """The line as it was read."""
    subject: str = ""
    """Who or what it is about, besides a device: a process, a library, a disk, a version."""
    process: str = ""
    """The process in whose name it happened, as the line gives it; "" where it gives none."""
    size_bytes: int | None = None
    """RAM of the process that was ended, or the limit that ended it."""
    fatal: bool | None = None
    """Whether the line calls its error fatal or uncorrected; None where it does not say."""
    nvidia: bool = False
    """Whether the line, or the trace below it, names NVIDIA's driver or a card of NVIDIA."""
    file_system: str = ""
    """The file system of the network in which a program hangs, by the trace beside it: `nfs`, `lustre`."""
    past: bool = False
    """Whether the machine or the driver was started again after it."""
    origin: str = KERNEL_LOG
    """The log it was read from."""

    @property
    def reading(self) -> Reading[str]:
        """The line as a reading, to be quoted."""
        return Reading(self.origin, self.line, Status.OK, Quote(self.origin, self.line.strip()[:MAX_QUOTED_CHARACTERS]))


def events_of(events: Sequence[LogEvent], *kinds: EventKind) -> tuple[LogEvent, ...]:
    """The events of some kinds, in their order."""
    return tuple(event for event in events if event.kind in kinds)


def pci_address(text: str) -> str:
    """Domain, bus and device of the first PCI address in a text, without the function; "" for none.

    A short form counts only with its function, which tells it from a time of day.

    >>> pci_address("NVRM: Xid (PCI:0000:9B:00): 79"), pci_address("00000008:01:00.0"), pci_address("device [41:00.0]")
    ('0000:9b:00', '0008:01:00', '0000:41:00')
    >>> pci_address("13:02:44 nothing"), pci_address("at 12:10 o'clock")
    ('', '')
    """
    found = _ADDRESS.search(text)
    if found is None:
        return ""
    domain = int(found["domain"] or "0", 16)
    return f"{domain:04x}:{found['bus'] or found['short_bus']}:{found['device'] or found['short_device']}".lower()
