"""NVLinks are down.

What: some NVLinks of a GPU carry nothing although they are wired, or a GPU has none while its equals have all.
Why: training over several GPUs falls back to fewer links or to PCIe, many times slower, or does not start at all.
How to tell: `nvidia-smi nvlink -s`, and the matrix of `nvidia-smi topo -m`. On GPUs of a board with NVLink (SXM) each
link must be active. Cards that take a bridge are fine without one; with one, too few links are told as a note.
"""

from collections.abc import Iterator, Sequence

from rigwise.knowledge.nvlink import find_nvlink
from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.topology import GpuLinks, Matrix
from rigwise.speech import say

FEWEST_FOR_A_SWITCH = 3
"""Bridges join two cards; where three or more are joined each with each, all of the board are meant to be."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for each GPU that lacks links, a note for cards with a bridge."""
    nvlinks, matrix = rig.topology.nvlinks, rig.topology.matrix
    if nvlinks.present:
        for gpu in nvlinks.need():
            yield from _of_links(gpu, nvlinks)
    elif not rig.has_one_gpu() and (matrix.present or not nvlinks.answered()):
        for index in _left_out(matrix.need()):
            because = say("No NVLink leads to it, while the other GPUs are joined each with each.")
            yield Problem(because, (matrix,), target=say("GPU {index}", index=index))


def _of_links(gpu: GpuLinks, nvlinks: Reading[tuple[GpuLinks, ...]]) -> Iterator[Problem]:
    model = find_nvlink(gpu.name)
    on_board = model is not None and model.fitted == "board"
    peers = [peer for peer in nvlinks.need() if peer.name == gpu.name and peer.gpu != gpu.gpu]
    most = max((peer.active() for peer in peers), default=0)
    if gpu.active() == 0 and not (on_board and most):
        return
    down = gpu.inactive()
    if not down and gpu.active():
        return
    because = say("{active} NVLinks are active; not so: {down}.", active=gpu.active(), down=_names(down))
    if not gpu.links:
        because = say("All its NVLinks are down; an equal GPU has {most} active.", most=most)
    weak = on_board or gpu.active() < most
    yield Problem(because, (_quoted(gpu, nvlinks),), target=_label(gpu), severity=None if weak else Severity.NOTE)


def _names(links: Sequence[int]) -> str:
    return ", ".join(map(str, links))


def _label(gpu: GpuLinks) -> str:
    return f"GPU {gpu.gpu} ({gpu.name})" if gpu.name else f"GPU {gpu.gpu}"


def _quoted(gpu: GpuLinks, nvlinks: Reading[tuple[GpuLinks, ...]]) -> Reading[GpuLinks]:
    """What nvidia-smi says of this one GPU."""
    lines = [f"Link {link.number}: {_speed(link.gb_per_second)}" for link in gpu.links] or ["all links are inActive"]
    return Reading("NVLinks", gpu, Status.OK, Quote(nvlinks.quote.source, "\n".join((_label(gpu), *lines))))


def _speed(gb_per_second: float | None) -> str:
    return "<inactive>" if gb_per_second is None else f"{gb_per_second:g} GB/s"


def _left_out(matrix: Matrix) -> Iterator[int]:
    """GPUs without any NVLink where all others, three at least, are joined each with each."""
    joined = [gpu for gpu in matrix.gpus if any(matrix.nvlinked(gpu, other) for other in matrix.gpus)]
    meshed = all(matrix.nvlinked(one, other) for one in joined for other in joined if one != other)
    if len(joined) >= FEWEST_FOR_A_SWITCH and meshed:
        yield from (gpu for gpu in matrix.gpus if gpu not in joined)
