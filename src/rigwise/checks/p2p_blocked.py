"""GPUs cannot copy to each other directly, or not well.

What: direct copies between GPUs (P2P) are refused, arrive damaged, or are slower than the way through RAM.
Why: training over several GPUs exchanges gradients all the time; through RAM that takes longer, and copies that an
IOMMU sends astray hang or corrupt training.
How to tell: `nvidia-smi topo -p2p`, p2pBandwidthLatencyTest, the access control (ACS) of the PCIe bridges, and the
copies of `rigwise check --deep`. GeForce cards since the RTX 40 series have no P2P by design: a note.
"""

from collections.abc import Iterator

from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.topology import Matrix
from rigwise.speech import say
from rigwise.units import significant

CONSUMER = ("GeForce", "TITAN")
ALLOWED = "OK"
REASONS = {
    "GNS": "the GPUs do not support it",
    "CNS": "the chipset does not support it",
    "TNS": "the way between them does not support it",
    "NS": "it is not supported",
    "DR": "a driver setting switches it off",
}
"""The legend of `nvidia-smi topo -p2p`."""
WORTHWHILE_RATIO = 0.7
"""Our choice. In NVIDIA/nccl#814 direct copies reach 0.45 of the speed through RAM; on sound machines, more than 1."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each sign, the gravest first."""
    if rig.has_one_gpu():
        return
    topology, transfers = rig.topology, rig.deep.transfers
    signs = (topology.peer_access, topology.pair_copies, topology.redirecting_bridges, transfers)
    for reading in [reading for reading in signs if reading.present] or [topology.peer_access]:
        reading.need()
    yield from _damaged(rig)
    yield from _slower_than_ram(rig)
    yield from _refused(rig)
    yield from _redirected(rig)


def _damaged(rig: Rig) -> Iterator[Problem]:
    transfers = rig.deep.transfers
    for copy in transfers.value.peers if transfers.value else ():
        if not copy.intact:
            because = say("A copy from GPU {one} to GPU {other} arrived changed.", one=copy.source, other=copy.target)
            told = Reading("copies", copy, Status.OK, Quote(transfers.quote.source, str(copy)))
            action = say("Train on one GPU until the IOMMU, or ACS, is off and the copies are right.")
            yield Problem(because, (told,), severity=Severity.SERIOUS, action=action)


def _slower_than_ram(rig: Rig) -> Iterator[Problem]:
    copies = rig.topology.pair_copies.value
    if copies is None:
        return
    ratios = {
        pair: speed / copies.through_host[pair]
        for pair, speed in copies.direct.items()
        if copies.through_host.get(pair) and pair not in copies.refused
    }
    pair = min(ratios, key=ratios.__getitem__, default=None)
    if pair is not None and ratios[pair] < WORTHWHILE_RATIO:
        because = say(
            "Direct copies from GPU {one} to GPU {other} reach {direct} GB/s, those through RAM {through} GB/s.",
            one=pair[0],
            other=pair[1],
            direct=significant(copies.direct[pair]),
            through=significant(copies.through_host[pair]),
        )
        yield Problem(because, (rig.topology.pair_copies,))


def _refused(rig: Rig) -> Iterator[Problem]:
    access, copies = rig.topology.peer_access, rig.topology.pair_copies
    states = {cell for _, _, cell in access.value.pairs() if cell in REASONS} if access.value else set()
    if states:
        words = {state: REASONS[state] for state in sorted(states)}
        because = say("nvidia-smi refuses direct copies: {states}.", states=", ".join(words.values()))
        yield Problem(because, (access,), severity=_severity(rig), action=_on_refusal(states))
    elif copies.value and copies.value.refused and not (access.value and _all_allowed(access.value)):
        because = say("{count} pairs of GPUs allow no direct copies.", count=len(copies.value.refused))
        yield Problem(because, (copies,), severity=Severity.NOTE)


def _on_refusal(states: set[str]) -> str:
    """Nothing where the GPUs themselves cannot; otherwise "", the catalogue's action."""
    if states == {"GNS"}:
        return say("There is nothing to mend: NCCL copies through RAM on such cards.")
    return ""


def _all_allowed(access: Matrix) -> bool:
    return all(cell == ALLOWED for _, _, cell in access.pairs())


def _severity(rig: Rig) -> Severity:
    """A warning only for cards that are sold with it."""
    names = [gpu.name.value_or("") for gpu in rig.gpus]
    sold_with_it = bool(names) and all(name and not any(word in name for word in CONSUMER) for name in names)
    return Severity.WARNING if sold_with_it else Severity.NOTE


def _redirected(rig: Rig) -> Iterator[Problem]:
    """Access control matters where direct copies cross PCIe bridges: with P2P, and without NVLink."""
    bridges, access, matrix = (
        rig.topology.redirecting_bridges,
        rig.topology.peer_access.value,
        rig.topology.matrix.value,
    )
    if not bridges.value or len(rig.topology.pcie_links) < 2 or (access is not None and not _all_allowed(access)):
        return
    if matrix is not None and all(matrix.nvlinked(one, other) for one, other, _ in matrix.pairs()):
        return
    because = say("{count} PCIe bridges send direct copies up to the CPU (ACS).", count=len(bridges.value))
    yield Problem(because, (bridges,), severity=Severity.NOTE)
