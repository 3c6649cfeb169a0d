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
