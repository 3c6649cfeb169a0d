"""Environment variables hold NCCL back.

What: a variable switches off a fast path between GPUs, or names a network interface that is not there.
Why: such settings stay behind from an old workaround; scaling over several GPUs is then poor, or the start hangs.
How to tell: NCCL_* in the environment, against the GPUs and interfaces of this machine. Where the GPUs have no direct
path anyway, as on most GeForce cards, switching it off costs nothing.
"""

from collections.abc import Iterator
from typing import Any

from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.speech import say

PEER_LEVELS_OFF = frozenset({"0", "LOC"})
"""Values of NCCL_P2P_LEVEL that never use direct copies."""
LOCAL_INTERFACES = ("lo", "docker")
"""Interfaces that reach no other machine."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning where a fast path that the GPUs have is off; a note for an interface that leads nowhere."""
    settings, reading = _settings(rig)
    if _is_off(settings) and _has_direct_path(rig):
        severity = None if _over_nvlink(rig) else Severity.NOTE
        because = say("Direct copies between the GPUs are switched off.")
        yield Problem(because, (reading,), ("unset NCCL_P2P_DISABLE NCCL_P2P_LEVEL",), severity)
    if settings.get("NCCL_SHM_DISABLE") == "1" and not rig.has_one_gpu():
        because = say("Copies through shared memory are switched off; the network is used.")
        yield Problem(because, (reading,), ("unset NCCL_SHM_DISABLE",))
    interface = settings.get("NCCL_SOCKET_IFNAME", "").lstrip("=")
    if interface.startswith(LOCAL_INTERFACES):
        because = say("NCCL is told to use {interface}, which reaches no other machine.", interface=interface)
        yield Problem(because, (reading,), severity=Severity.NOTE)


def _settings(rig: Rig) -> tuple[dict[str, str], Reading[Any]]:
    """NCCL's variables and the evidence for them: what somebody handed over, or the interpreter's environment."""
    told = rig.topology.nccl_settings
    if told.present:
        return told.need(), told
    own = {name: value for name, value in rig.interpreter.need().environment.items() if name.startswith("NCCL_")}
    shown = " ".join(f"{name}={value}" for name, value in own.items())
    return own, Reading("environment", own, Status.OK, Quote("environment", shown))


def _is_off(settings: dict[str, str]) -> bool:
    return settings.get("NCCL_P2P_DISABLE") == "1" or settings.get("NCCL_P2P_LEVEL") in PEER_LEVELS_OFF


def _has_direct_path(rig: Rig) -> bool:
    """Whether the GPUs could copy directly: over NVLink, or because the driver says so."""
    access = rig.topology.peer_access.value
    return _over_nvlink(rig) or (access is not None and any(cell == "OK" for _, _, cell in access.pairs()))


def _over_nvlink(rig: Rig) -> bool:
    matrix = rig.topology.matrix.value
    return matrix is not None and any(matrix.nvlinked(one, other) for one, other, _ in matrix.pairs())
