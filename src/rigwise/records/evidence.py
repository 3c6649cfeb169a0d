"""Raw answers from a machine, exactly as they were read; parsing comes later, in `probes`."""

from enum import StrEnum

import msgspec

MAX_QUOTED_CHARACTERS = 4000
"""Our choice: a screenful. A text of megabytes that nobody understands stands in no report once per check."""


class Status(StrEnum):
    """Whether a question was answered, and if not, why not."""

    OK = "ok"
    NOT_SUPPORTED = "not_supported"
    """The device or driver has no such value."""
    NOT_PERMITTED = "not_permitted"
    """It exists, but this user may not read it."""
    NOT_FOUND = "not_found"
    """No such file, program or library."""
    TIMED_OUT = "timed_out"
    """The question hung past its time limit; itself a finding."""
    LOST = "lost"
    """The GPU stopped answering (NVML_ERROR_GPU_IS_LOST)."""
    FAILED = "failed"
    """It answered with an error of its own; `text` holds it."""
    NOT_RECORDED = "not_recorded"
    """The recording or pasted text does not hold this answer."""
    UNREADABLE = "unreadable"
    """An answer came, but it could not be understood."""


class Quote(msgspec.Struct, frozen=True):
    """A piece of evidence as it is shown: where it was read, and the words."""

    source: str
    text: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One raw answer of a source. Absent values are a status, never an exception."""

    source: str
    """`nvml`, `command`, `file` or `kernel log`."""
    key: str
    """What was asked: `DeviceGetTemperature gpu 0`, `nvidia-smi -q -x`, `/proc/meminfo`."""
    status: Status
    text: str = ""
    """The answer; for a failed question, the words of the failure."""
    return_code: int | None = None
    """NVML return code or exit status, where there is one."""
    collected_at: str = ""
    """UTC, ISO 8601."""
    duration_seconds: float = 0.0

    @property
    def origin(self) -> str:
        """Where this was read, for people: `NVML DeviceGetTemperature gpu 0`, `/proc/meminfo`."""
        return {"nvml": f"NVML {self.key}", "command": f"$ {self.key}"}.get(self.source, self.key)

    def quote(self, text: str | None = None) -> Quote:
        """This evidence, or the one line of it that matters, ready to be shown; a long one is cut."""
        shown = self.text.strip() if text is None else text.strip()
        if len(shown) > MAX_QUOTED_CHARACTERS:
            shown = f"{shown[:MAX_QUOTED_CHARACTERS]}..."
        return Quote(self.origin, shown)
