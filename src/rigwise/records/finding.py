"""What a check concluded, and the decision drawn from all of them."""

from enum import StrEnum
from typing import Any

import msgspec

from rigwise.records.evidence import Quote, Status
from rigwise.records.identity import RigIdentity
from rigwise.records.reading import Reading

CHECK_SCHEMA = "rigwise.check/1"
RIG = "rig"
"""The target of a finding about the whole machine."""


class Verdict(StrEnum):
    """What a check says of one target."""

    OK = "ok"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """How much a problem matters. A note alone leaves the decision at go."""

    NOTE = "note"
    WARNING = "warning"
    SERIOUS = "serious"


class Action(StrEnum):
    """The decision."""

    GO = "go"
    GO_WITH_CARE = "go_with_care"
    STOP = "stop"
    CANNOT_TELL = "cannot_tell"


class Problem(msgspec.Struct, frozen=True):
    """What a check yields: why this is a problem, and the readings that show it."""

    because: str
    readings: tuple[Reading[Any], ...]
    next_steps: tuple[str, ...] = ()
    """Replaces the catalogue's next steps where the readings allow a more exact command."""
    severity: Severity | None = None
    """Replaces the catalogue's severity where the readings say how bad it is."""
    target: str = ""
    """The GPU it is about, where a check of the whole rig found it; "" for the rig itself."""
    action: str = ""
    """Replaces the catalogue's action where the readings say more exactly what to do."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One check's conclusion about one target (a GPU or the rig)."""

    check: str
    target: str
    title: str
    verdict: Verdict
    severity: Severity
    because: str
    evidence: tuple[Quote, ...]
    next_steps: tuple[str, ...]
    """What to do in words, each sentence with a full stop at its end, then commands to copy."""
    absence: Status | None = None
    """For `unknown`: why the value was missing."""
    symptom_of: str | None = None
    """The check id of the first cause this follows from, be it a problem or that it could not be told."""

    @property
    def short_target(self) -> str:
        """The target without what it says in brackets: `GPU 1`."""
        return self.target.partition(" (")[0]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether to go on, why, and what to do next."""

    action: Action
    because: str
    next_steps: tuple[str, ...]


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise check --json` prints: the decision, then the findings, first cause first."""

    schema: str = CHECK_SCHEMA
    decision: Decision
    findings: tuple[Finding, ...]
    identity: RigIdentity | None = None
    """What the machine is; None in reports made before there was one."""
