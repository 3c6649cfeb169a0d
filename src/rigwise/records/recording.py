"""What a recording of a machine holds, for its preview and for `rigwise record`."""

import msgspec

from rigwise.records.finding import Action

RECORD_SCHEMA = "rigwise.record/1"


class RecordedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a recording."""

    path: str
    size_bytes: int
    trimmed: bool = False
    """Whether a part of it was left out; the file says where."""


class RecordReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise record --json` prints, and what PREVIEW.txt says in words."""

    schema: str = RECORD_SCHEMA
    path: str
    """The archive or folder that was made."""
    size_bytes: int
    rigwise_version: str
    recorded_at: str
    """UTC, ISO 8601."""
    masked: bool
    deep: bool
    """Whether the active probes ran."""
    decision: Action
    because: str
    files: tuple[RecordedFile, ...]
    replaced: dict[str, int]
    """How many things were replaced by pseudonyms, by what they were."""
    next_command: str
