"""Which lines of a kernel log or fabric manager log report something, and what. One line at a time.

Each rule has a literal that its lines hold, so that the many lines which report nothing cost next to nothing. The
forms are those of the kernel's and the driver's source and of logs in public bug reports.
"""

import re

import msgspec

from rigwise.records.kernel_events import EventKind, LogEvent, pci_address

KIB = 1024
_XID_119 = "119"
_LIBRARIES = (
    r"lib(?:nccl|cuda|cudart|cublas|cudnn|cufft|curand|cusolver|cusparse|cupti|cufile|nvrtc|nvinfer|nvjpeg|nvJitLink"
    r"|nvidia-ml|nvidia-ptxjitcompiler|torch|c10|tensorflow|jax|ggml|llama|onnxruntime|bitsandbytes|uc[ptsm]"
    r"|ibverbs|mlx5)(?![a-z])[\w.+-]*|xla_extension[\w.+-]*|_pywrap_tensorflow[\w.+-]*|flash_attn[\w.+-]*"
)
_NO_DISK = r"(?!fd\d|sr\d|loop|zram|nbd|mtd)"


class Rule(msgspec.Struct, frozen=True):
    """One form of line. Its named groups fill the event: code, address, subject, process, kib, fatal, mild."""

    literal: str
    """What every such line holds."""
    kind: EventKind
    pattern: re.Pattern[str]


def _rules(*rules: tuple[str, EventKind, str]) -> tuple[Rule, ...]:
    return tuple(Rule(literal, kind, re.compile(pattern)) for literal, kind, pattern in rules)


RULES = _rules(
    (
        "SXid",
        EventKind.SXID,
        r"SXid \([^)]{4,40}\): (?P<code>\d{5}),? (?!Severity|Data)(?:(?P<mild>Non-)|(?P<fatal>Fatal))?",
    ),
    (
        "NVSwitch",
        EventKind.SXID,
        r"NVSwitch (?:(?P<mild>non-fatal)|(?P<fatal>fatal)) error (?P<code>\d{5})\b",
    ),
    (
        "Xid",
        EventKind.XID,
        r"(?<![A-Za-z])Xid\s*\(\s*(?P<address>(?:PCI\s*:|[0-9a-fA-F]{4}:)[^()]{0,40})\)\s*:\s*(?P<code>\d{1,3})\b"
        r"(?:,\s*pid=[^,]{1,20})?(?:,\s*name=(?P<process>[^,<]{1,40}))?",
    ),
    ("fallen off the bus", EventKind.FALLEN, r"fallen off the bus"),
    ("from GSP", EventKind.XID, r"NVRM: (?!.{0,80}Xid).{0,80}Timeout (?P<gsp>waiting for RPC from GSP)"),
    ("RmInitAdapter", EventKind.INIT_FAILED, r"RmInitAdapter (?P<fatal>failed)"),
    ("rm_init_adapter", EventKind.INIT_FAILED, r"rm_init_adapter(?:\(\))? (?P<fatal>failed)"),
    (" probed", EventKind.INIT_FAILED, r"NVRM: No NVIDIA (?:graphics adapter|devices?) (?P<fatal>probed)"),
    (
        "devices were initialized",
        EventKind.INIT_FAILED,
        r"NVRM: None of the NVIDIA devices were (?P<fatal>initialized)",
    ),
    (
        "failed with error -",
        EventKind.INIT_FAILED,
        r"nvidia(?: [\da-f:.]{7,14})?: probe (?:of [\da-f:.]{7,14}|with driver nvidia) (?P<fatal>failed) with error",
    ),
    ("is 0M @", EventKind.INIT_FAILED, r"NVRM: BAR\d (?P<fatal>is 0M @)"),
    ("power cables", EventKind.POWER, r"NVRM: .{0,60}does not have the necessary power cables"),
    (
        "Bus Error",
        EventKind.AER,
        r"PCIe Bus Error: severity=(?:(?P<mild>Correct)|(?P<fatal>Uncorrect))",
    ),
    ("AER: can", EventKind.AER, r"nvidia .{0,20}AER: (?P<fatal>can't recover)"),
    ("DPC:", EventKind.AER, r"DPC: (?P<fatal>containment event)"),
    ("Slot(", EventKind.LINK_DOWN, r"pciehp: Slot\([\w-]{1,12}\): (?:Link Down|Card not present)"),
    ("temperature", EventKind.THERMAL, r"temperature above threshold|critical temperature reached"),
    (
        "Hardware Error",
        EventKind.MACHINE_CHECK,
        r"\[Hardware Error\]: .{0,20}?(?:(?P<fatal>Machine Check Exception|Uncorrected, |System Fatal error"
        r"|event severity: fatal)|(?P<mild>Corrected error|event severity: (?:corrected|info))"
        r"|Deferred error|event severity: recoverable)",
    ),
    ("hardware memory error", EventKind.MACHINE_CHECK, r"(?P<fatal>Uncorrected) hardware memory error"),
    ("EDAC", EventKind.MACHINE_CHECK, r"EDAC (?P<subject>MC\d{1,3}): \d{1,9} (?:(?P<mild>CE)|(?P<fatal>UE))\b"),
    (
        "process",
        EventKind.OOM_KILL,
        r"Kill(?:ed)? process (?P<code>\d{1,9}),? (?:UID \d{1,9},? ?)?\((?P<subject>[^)]{1,64})\)"
        r"(?:.{0,60}? anon-rss:(?P<kib>[\d,]{1,15})kB)?",
    ),
    ("systemd-oomd", EventKind.OOM_KILL, r"systemd-oomd\[\d{1,9}\]: Killed (?P<subject>\S{1,200})"),
    (
        "oom-kill:",
        EventKind.OOM_LIMIT,
        r"oom-kill:constraint=CONSTRAINT_MEMCG(?:.{0,400}?oom_memcg=(?P<subject>[^,\s]{1,300}))?",
    ),
    ("invoked oom-killer", EventKind.OOM_LIMIT, r"(?P<process>\S{1,32}) invoked oom-killer"),
    ("failcnt", EventKind.OOM_LIMIT, r"memory: usage \d{1,15}kB, limit (?P<kib>\d{1,15})kB, failcnt"),
    (
        "blocked for more",
        EventKind.HUNG_TASK,
        r"task (?P<subject>.{1,64}?):\d{1,9} (?:is )?blocked for more than \d{1,6} seconds",
    ),
    (
        "soft lockup",
        EventKind.HUNG_TASK,
        r"soft lockup - CPU#\d{1,5} stuck for \d{1,6}s! \[(?P<subject>.{1,64}?):\d{1,9}\]",
    ),
    ("BUG:", EventKind.HUNG_TASK, r"BUG: (?P<fatal>unable to handle|kernel NULL pointer dereference)"),
    (
        "segfault at",
        EventKind.CRASH,
        rf"(?P<process>[^\s\]:]{{1,32}})\[\d{{1,9}}\]: segfault at .{{1,160}}? in (?P<subject>{_LIBRARIES})",
    ),
    (
        "traps:",
        EventKind.CRASH,
        rf"traps: (?P<process>.{{1,32}}?)\[\d{{1,9}}\] .{{1,200}}? in (?P<subject>{_LIBRARIES})",
    ),
    ("peermem", EventKind.PEERMEM, r"nvidia[-_]peermem .{0,80}?\bERROR\b"),
    ("nv_peer_mem", EventKind.PEERMEM, r"nv_peer_mem.{0,80}?\bERROR\b"),
    ("controller is down", EventKind.DISK, r"nvme (?P<subject>nvme\d{1,3}): (?P<fatal>controller is down)"),
    (
        "timeout,",
        EventKind.DISK,
        r"nvme (?P<subject>nvme\d{1,3}): I/O .{1,80}? timeout, (?:(?P<fatal>reset)|(?P<mild>\w))",
    ),
    ("medium error", EventKind.DISK, rf"critical (?P<fatal>medium) error, dev (?P<subject>{_NO_DISK}[\w-]{{2,32}})"),
    (
        "I/O error, dev",
        EventKind.DISK,
        rf"I/O error, dev (?:(?P<mild>(?=sd))|(?P<fatal>(?!sd)))(?P<subject>{_NO_DISK}[\w-]{{2,32}})",
    ),
    ("-fs error", EventKind.DISK, r"(?P<fatal>EXT[234]|F2FS)-fs error \(device (?P<subject>[\w-]{2,32})\)"),
    (
        "filesystem read-only",
        EventKind.DISK,
        r"\((?P<subject>[\w-]{2,32})\): (?P<fatal>Remounting) filesystem read-only",
    ),
    (
        "XFS (",
        EventKind.DISK,
        r"XFS \((?P<subject>[\w-]{2,32})\): (?P<fatal>Corruption|metadata I/O error|log I/O error)",
    ),
    ("BTRFS", EventKind.DISK, r"BTRFS (?P<fatal>error|critical) \(device (?P<subject>[\w-]{2,32})"),
    (
        "nfs: server",
        EventKind.FILE_SERVER,
        r"nfs: server (?P<subject>\S{1,200}) "
        r"(?:(?P<fatal>not responding), (?:still trying|timed out)|(?P<mild>OK))\s*$",
    ),
    (
        "has not responded",
        EventKind.FILE_SERVER,
        r"CIFS: .{0,20}?\\\\(?P<subject>\S{1,200}) (?P<fatal>has not responded) in",
    ),
    ("fault addr", EventKind.IOMMU, r"DMAR: \[DMA .{1,20}?\] Request device"),
    ("IO_PAGE_FAULT", EventKind.IOMMU, r"IO_PAGE_FAULT"),
    (
        "loading NVIDIA UNIX",
        EventKind.DRIVER_LOADED,
        r"loading NVIDIA UNIX .{0,60}?\s(?P<subject>\d{3}\.\d{1,4}(?:\.\d{1,4})?)\b",
    ),
    ("Linux version ", EventKind.BOOT, r"Linux version \d{1,2}\.\d"),
    ("-- Boot ", EventKind.BOOT, r"^-- Boot [0-9a-f]"),
    ("-- Reboot --", EventKind.BOOT, r"^-- Reboot --"),
)

TOLD_RULES = _rules(
    ("Xid=", EventKind.XID, r"XidCriticalError: Xid=(?P<code>\d{1,3}) on Device="),
    ("Detected XID", EventKind.XID, r"Detected XID (?P<code>\d{1,3}) for GPU"),
    ("XidCriticalError", EventKind.XID, r"XidCriticalError +True .{20,200}\{\"(?P<code>\d{1,3})\":true"),
    ("DCGM_FI_DEV_XID_ERRORS", EventKind.XID, r"DCGM_FI_DEV_XID_ERRORS\{[^}]{0,600}\} (?P<code>[1-9]\d{0,2})\b"),
    (
        "Xid",
        EventKind.XID,
        r"\b(?:\d{1,3} ?[x\u00d7] ?|(?:got|hit|threw) (?:an? )?)\*{0,2}Xid (?:error )?(?P<code>\d{1,3})\b",
    ),
    ("NvidiaXID", EventKind.XID, r"\bNvidiaXID(?P<code>\d{1,3})(?:Error|Warning)\b"),
)
"""How Kubernetes device plugins, DCGM, node monitors and people who counted pass an Xid on."""


def told_event(line: str) -> LogEvent | None:
    """The Xid that another program's output passes on; None for a line that passes none on.

    >>> event = told_event("XidCriticalError: Xid=94 on Device=GPU-5c0e; marking device as unhealthy.")
    >>> event.code, event.address
    (94, '')
    """
    return _first_event(TOLD_RULES, line)


def line_event(line: str) -> LogEvent | None:
    """What a line reports by itself; None for a line that reports nothing.

    >>> event = line_event("NVRM: Xid (PCI:0000:41:00): 79, pid=18422, name=python, GPU has fallen off the bus.")
    >>> event.code, event.address, event.process
    (79, '0000:41:00', 'python')
    >>> line_event("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore").fatal
    False
    >>> line_event("audit: transaction Xid 79 done") is None
    True
    """
    return _first_event(RULES, line)


def _first_event(rules: tuple[Rule, ...], line: str) -> LogEvent | None:
    for rule in rules:
        if rule.literal in line:
            found = rule.pattern.search(line)
            if found:
                return _event(rule, found, line)
    return None


def _event(rule: Rule, found: re.Match[str], line: str) -> LogEvent:
    told = {name: value for name, value in found.groupdict().items() if value is not None}
    code = _XID_119 if "gsp" in told else told.get("code")
    return LogEvent(
        kind=rule.kind,
        code=int(code) if code else None,
        address=_gpu_address(told["address"]) if "address" in told else pci_address(line),
        line=line,
        subject=told.get("subject", ""),
        process=told.get("process", "").strip(),
        size_bytes=int(told["kib"].replace(",", "")) * KIB if told.get("kib") else None,
        fatal=True if "fatal" in told else False if "mild" in told else None,
        nvidia="nvidia" in line or "NVRM" in line or "[10de:" in line,
    )


def _gpu_address(text: str) -> str:
    """The address in the brackets of an Xid; drivers of the 200 series wrote bus and device alone.

    >>> [_gpu_address(text) for text in ("PCI:0000:41:00 GPU-I:05", "0000:01:00", "0003:00", "PCI:...")]
    ['0000:41:00', '0000:01:00', '0000:03:00', '']
    """
    old = re.fullmatch(r"\s*00([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\s*", text)
    return f"0000:{old[1]}:{old[2]}".lower() if old else pci_address(text)
