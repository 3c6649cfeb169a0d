"""What nvidia-smi prints instead of an answer, as the NVML return code behind it.

nvidia-smi is NVML's own client, so each message stands for one nvmlReturn_t (nvml.h, nvmlErrorString).
"""

import re

import msgspec

from rigwise.records.evidence import Evidence, Status

_MEANINGS: tuple[tuple[str, int, Status], ...] = (
    (r"version mismatch", 18, Status.FAILED),
    (r"GPU is lost", 15, Status.LOST),
    (r"GPU requires re(set|start)", 16, Status.FAILED),
    (r"couldn't communicate with the NVIDIA driver|Driver Not Loaded", 9, Status.FAILED),
    (r"couldn't find libnvidia-ml|Shared Library Not Found", 12, Status.NOT_FOUND),
    (r"Insufficient Permissions", 4, Status.NOT_PERMITTED),
    (r"blocked by the operating system|has blocked the request", 17, Status.NOT_PERMITTED),
    (r"Insufficient (External )?Power", 8, Status.FAILED),
    (r"Corrupted infoROM", 14, Status.FAILED),
    (r"No devices were found", 6, Status.NOT_FOUND),
    (r"Unknown Error|\bERR!", 999, Status.FAILED),
)
_FAILURE = re.compile(
    r"^.{0,80}(?:NVIDIA-SMI (?:has failed because|couldn't find)|Failed to initialize NVML|No devices were found)"
    r"[^\n]{0,160}",
    re.MULTILINE,
)
"""The messages that stand in place of everything else."""
_NOT_SUPPORTED = re.compile(r"^\[?(N/A|Not Supported|Requested functionality has been deprecated|)\]?$")


def explained(evidence: Evidence) -> Evidence:
    """The answer, with the return code and status its message stands for where it is a message.

    >>> failed = Evidence(source="command", key="nvidia-smi", status=Status.FAILED, return_code=255,
    ...     text="Failed to initialize NVML: Driver/library version mismatch")
    >>> explained(failed).return_code
    18
    """
    for pattern, code, status in _MEANINGS:
        if re.search(pattern, evidence.text, re.IGNORECASE):
            return msgspec.structs.replace(evidence, status=status, return_code=code)
    return evidence


def explained_value(evidence: Evidence, value: str) -> Evidence:
    """One value of an answer as an answer of its own: `N/A` is not supported, a message is explained.

    >>> whole = Evidence(source="command", key="nvidia-smi -q -x", status=Status.OK)
    >>> explained_value(whole, "N/A").status, explained_value(whole, "GPU is lost").status
    (<Status.NOT_SUPPORTED: 'not_supported'>, <Status.LOST: 'lost'>)
    """
    alone = msgspec.structs.replace(evidence, text=value, return_code=None)
    if _NOT_SUPPORTED.match(value):
        return msgspec.structs.replace(alone, status=Status.NOT_SUPPORTED)
    return explained(alone)


def last_message(evidence: Evidence, works: re.Pattern[str]) -> Evidence | None:
    r"""The failure that ends an answer, explained; None where something that `works` comes after it, or none is there.

    >>> ended = Evidence(source="command", key="nvidia-smi", status=Status.OK,
    ...     text="| NVIDIA-SMI 535.54 |\nFailed to initialize NVML: Driver/library version mismatch")
    >>> last_message(ended, re.compile("NVIDIA-SMI [0-9]")).return_code
    18
    """
    failures = list(_FAILURE.finditer(evidence.text))
    if not failures:
        return explained(evidence) if evidence.status is Status.FAILED else None
    if any(found.start() > failures[-1].start() for found in works.finditer(evidence.text)):
        return None
    line = failures[-1][0].strip()
    return explained(msgspec.structs.replace(evidence, status=Status.FAILED, text=line, return_code=None))
