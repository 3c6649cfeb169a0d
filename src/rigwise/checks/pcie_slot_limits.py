"""A GPU's slot can do far less than the card.

What: the slot has so few lanes, or so old a generation, that it carries less than half of what the card could use.
Why: nothing is broken, but copies between host and GPU take several times longer than the card would allow; another
slot of the same board may be better.
How to tell: the highest generation of the slot (driver) and its lanes (the port above the card) against those of the
card. One generation less is common, harmless, and not told.
"""

from collections.abc import Iterator

from rigwise.knowledge.gpus import find_gpu
from rigwise.knowledge.pcie import gb_per_second, has_slot, lanes_of_card, slot_of
from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.records.topology import PcieLink
from rigwise.speech import say
from rigwise.units import significant

LEAST_RATIO = 0.4
"""Our choice: one generation less leaves 0.5, and no more is told of it than a data sheet does."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A note when the slot carries less than 0.4 of what the card could."""
    link, slot = rig.topology.pcie_link(gpu.pci_bus_id.value), slot_of(gpu, rig)
    slot_gen = _slot_gen(gpu, link)
    if not has_slot(gpu, rig):
        return
    model = find_gpu(gpu.name.value or "", gpu.memory_total_bytes.value)
    card_gen = gpu.pcie_link_gen_device_max.value or (model.pcie_gen if model else None) or gpu.pcie_link_gen_max.need()
    lanes = lanes_of_card(gpu.name.value or "", gpu.memory_total_bytes.value) or gpu.pcie_link_width_max.need()
    slot_lanes = min(slot.width_max or lanes, lanes)
    card_speed, slot_speed = gb_per_second(card_gen, lanes), gb_per_second(min(slot_gen, card_gen), slot_lanes)
    if not card_speed or not slot_speed or slot_speed >= LEAST_RATIO * card_speed:
        return
    because = say(
        "The slot does PCIe generation {slot_gen} with {slot_lanes} lanes, {slot} GB/s each way;"
        " the card could do generation {card_gen} with {lanes}, {card} GB/s.",
        slot_gen=slot_gen,
        slot_lanes=slot_lanes,
        slot=significant(slot_speed),
        card_gen=card_gen,
        lanes=lanes,
        card=significant(card_speed),
    )
    readings = (gpu.pcie_link_gen_host_max, gpu.pcie_link_gen_device_max, *((link.port,) if link else ()))
    yield Problem(because, tuple(reading for reading in readings if reading.present))


def _slot_gen(gpu: Gpu, link: PcieLink | None) -> int:
    """The slot's highest generation, as the driver tells it; otherwise as the port above the card does."""
    host = gpu.pcie_link_gen_host_max
    if not host.value and link is not None and link.port.present:
        return link.port.need().gen_max or host.need()
    return host.need()
