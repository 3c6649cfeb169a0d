"""What `rigwise check --deep` measured, in one line: also on a healthy machine people want to know how fast it is."""

from collections.abc import Iterator

from rigwise.records.deep import DiskSpeed
from rigwise.records.rig import Rig
from rigwise.records.transfers import GpuTrial
from rigwise.speech import say
from rigwise.units import significant

GIGABYTE = 1e9


def measured_line(rig: Rig) -> str:
    """The speeds of the disk and of each GPU's link; "" where nothing was measured.

    Copies are those of pinned memory.
    """
    disk, transfers = rig.deep.disk_speed.value, rig.deep.transfers.value
    parts = [*(_disk(disk) if disk is not None else ())]
    parts += [text for trial in (transfers.gpus if transfers is not None else ()) if (text := _copies(trial))]
    return say("measured: {facts}", facts="; ".join(parts)) if parts else ""


def _disk(speed: DiskSpeed) -> Iterator[str]:
    """Sequential and random reads; the cache of the operating system is only named where it took part."""
    large, small = speed.sequential_read_bytes_per_second, speed.random_reads_per_second
    facts = []
    if large is not None:
        facts.append(say("{speed} GB/s in sequence", speed=significant(large / GIGABYTE)))
    if small is not None:
        facts.append(say("{count} random reads/s", count=significant(small)))
    if facts and speed.direct is False:
        facts.append(say("from the cache"))
    if facts:
        yield say("disk {facts}", facts=", ".join(facts))


def _copies(trial: GpuTrial) -> str:
    """Both directions of one GPU, "" where neither was measured."""
    facts = []
    if trial.pinned_to_gpu is not None:
        facts.append(say("{speed} GB/s to it", speed=significant(trial.pinned_to_gpu)))
    if trial.pinned_from_gpu is not None:
        facts.append(say("{speed} GB/s from it", speed=significant(trial.pinned_from_gpu)))
    return say("GPU {index} {facts}", index=trial.gpu, facts=", ".join(facts)) if facts else ""
