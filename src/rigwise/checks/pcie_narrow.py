"""A GPU uses fewer PCIe lanes than it and its slot have.

What: the link between card and slot runs at x8, x4 or x1 although both could do more.
Why: copies between host and GPU, and between GPUs without NVLink, take as many times longer. One card that trains
from its own VRAM hardly notices x8; loading models, offloading to RAM and several cards do.
How to tell: lanes in use against what card (driver, table of cards, lspci) and slot (the port above it) can do; the
number of lanes does not change at idle. Laptops, virtual machines, outside boxes and GPUs without a slot are left out.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from rigwise.knowledge.pcie import gb_per_second, has_slot, lanes_of_card, link_has_slot, slot_of
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.reading import Reading, not_asked
from rigwise.records.rig import Rig
from rigwise.records.topology import LinkEnd, PcieLink
from rigwise.speech import say
from rigwise.units import significant

HALF = 8
"""Lanes. Boards split an x16 slot into two x8 when a second card is in, on purpose; fewer lanes are a slot of the
chipset, a riser, or a bad contact."""


class Seat(NamedTuple):
    """One card in its slot, whoever described it. None: not told."""

    target: str
    address: str
    now: int
    can: int | None
    """Lanes that card and slot have in common."""
    slot: int | None
    """Lanes of the slot."""
    gen: int | None
    readings: tuple[Reading[Any], ...]


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note for half of the lanes where the slot may have no more; otherwise a warning."""
    by_driver = [gpu for gpu in rig.gpus if gpu.pcie_link_width.present]
    described = {gpu.pci_bus_id.value for gpu in by_driver}
    links = [link for link in rig.topology.pcie_links if link.address or not by_driver]
    by_bus = [link for link in links if link.address not in described and link.card.present]
    if not by_driver and not by_bus:
        next(_unread(rig), not_asked("PCIe width")).need()
    seats = [*(_from_driver(gpu, rig) for gpu in by_driver), *(_from_bus(link, rig) for link in by_bus)]
    yield from (_problem(seat, rig) for seat in seats if seat is not None and (seat.can is None or seat.now < seat.can))


def _unread(rig: Rig) -> Iterator[Reading[Any]]:
    yield from (gpu.pcie_link_width for gpu in rig.gpus)
    yield from (link.card for link in rig.topology.pcie_links)


def _from_driver(gpu: Gpu, rig: Rig) -> Seat | None:
    now, reported = gpu.pcie_link_width.need(), gpu.pcie_link_width_max.value
    if not has_slot(gpu, rig):
        return None
    link, slot = rig.topology.pcie_link(gpu.pci_bus_id.value), slot_of(gpu, rig).width_max
    card = lanes_of_card(gpu.name.value or "", gpu.memory_total_bytes.value)
    return Seat(
        target=gpu.label,
        address=gpu.pci_bus_id.value or "",
        now=now,
        can=min((lanes for lanes in (reported, card, slot) if lanes), default=now),
        slot=slot,
        gen=gpu.pcie_link_gen_max.value or gpu.pcie_link_gen.value,
        readings=(gpu.pcie_link_width, gpu.pcie_link_width_max, *((link.port,) if link and slot else ())),
    )


def _from_bus(link: PcieLink, rig: Rig) -> Seat | None:
    end, slot = link.card.need(), link.port.value or LinkEnd()
    if not end.width or not link_has_slot(link, rig):
        return None
    card = lanes_of_card(link.name, chip=link.chip)
    return Seat(
        target=f"{link.address} ({link.name})" if link.name else link.address,
        address=link.address,
        now=end.width,
        can=min(
            (lanes for lanes in (end.width_max, card, slot.width_max) if lanes),
            default=None if end.narrowed else end.width,
        ),
        slot=slot.width_max,
        gen=min((gen for gen in (end.gen_max, slot.gen_max) if gen), default=None),
        readings=(link.card, *((link.port,) if link.port.present else ())),
    )


def _problem(seat: Seat, rig: Rig) -> Problem:
    told = (_lanes(seat.now, seat.can), _cost(seat.gen, seat.now, seat.can), _who_cares(rig, seat.now))
    command = f"sudo lspci -vv -s {seat.address} | grep -E 'LnkCap|LnkSta'"
    return Problem(
        " ".join(filter(None, told)),
        seat.readings,
        next_steps=(command,) if seat.address else (),
        severity=Severity.NOTE if seat.now >= HALF and not seat.slot else None,
        target=seat.target,
    )


def _lanes(now: int, can: int | None) -> str:
    if can is None:
        return say("The link uses {now} PCIe lanes, fewer than the card has.", now=now)
    return say("The link uses {now} of {can} PCIe lanes.", now=now, can=can)


def _cost(gen: int | None, now: int, can: int | None) -> str:
    """What the lanes carry at the generation the link can do; "" where that is not known."""
    slow, full = (gb_per_second(gen or 0, lanes) for lanes in (now, can or 0))
    if slow is None or full is None:
        return ""
    return say("It carries {slow} GB/s each way instead of {full}.", slow=significant(slow), full=significant(full))


def _who_cares(rig: Rig, now: int) -> str:
    if len(rig.gpus) > 1:
        return say("Copies between the GPUs cross it too, where no NVLink connects them.")
    if now >= HALF:
        return say("Training on this one card hardly notices.")
    return say("Loading data and models and offloading to RAM wait for it.")
