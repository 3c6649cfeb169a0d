"""NVLinks as nvidia-smi prints them: speeds (`nvlink -s`) and error counters (`nvlink -e`)."""

import re
from collections.abc import Iterator

from rigwise.records.topology import GpuLinks, Link, LinkErrors

GPU_LINE = re.compile(r"\s*GPU (\d+):\s*(.*?)\s*(?:\(UUID|$)")
SPEED_LINE = re.compile(r"\s*Link (\d+):\s*(?:(\d+(?:[.,]\d+)?) GB/s|<inactive>|N/A)", re.IGNORECASE)
COUNTER_LINE = re.compile(r"\s*Link (\d+):\s*([A-Za-z ]+?)\s*:\s*(\d+)\s*$")
COUNTERS = {
    "replay errors": "replay",
    "recovery errors": "recovery",
    "crc errors": "crc",
    "crc flit errors": "crc",
    "crc data errors": "crc",
    "malformed packet errors": "malformed packet",
    "buffer overrun errors": "buffer overrun",
    "rx errors": "receive",
    "rx remote errors": "receive remote",
    "rx general errors": "receive general",
    "local link integrity errors": "link integrity",
    "tx discards": "transmit discard",
    "link recovery successful events": "recovery",
    "link recovery failed events": "recovery failed",
    "effective errors": "effective",
    "symbol errors": "symbol",
}
"""Names of drivers before and after NVLink 5; corrected codewords (`FEC Errors`) are no faults and not here."""


def parse_link_speeds(text: str) -> tuple[GpuLinks, ...]:
    r"""The NVLinks of every GPU that `nvidia-smi nvlink -s` lists, but for one after whose name the text was cut.

    Raises:
        LookupError: it lists no GPU.

    >>> text = "GPU 0: Tesla V100-SXM2-32GB (UUID: GPU-1)\n\t Link 0: 25.781 GB/s\n\t Link 1: <inactive>"
    >>> links = parse_link_speeds(text)[0]
    >>> links.name, links.active(), links.inactive()
    ('Tesla V100-SXM2-32GB', 1, (1,))
    """
    names: dict[int, str] = {}
    links: dict[int, dict[int, Link]] = {}
    for gpu, name, line in _lines_by_gpu(text):
        names[gpu] = name
        if told := SPEED_LINE.match(line):
            speed = float(told[2].replace(",", ".")) if told[2] else None
            links.setdefault(gpu, {})[int(told[1])] = Link(number=int(told[1]), gb_per_second=speed)
    if not names:
        raise LookupError("no GPU")
    if GPU_LINE.match(text.rstrip().rsplit("\n", 1)[-1]):
        del names[next(reversed(names))]
    return tuple(GpuLinks(gpu=gpu, name=names[gpu], links=tuple(links.get(gpu, {}).values())) for gpu in sorted(names))


def parse_link_errors(text: str) -> tuple[LinkErrors, ...]:
    r"""The error counters of every NVLink that `nvidia-smi nvlink -e` lists.

    Raises:
        LookupError: it lists no GPU.

    >>> parse_link_errors("GPU 0: NVIDIA GB300\n\t Link 2: Replay Errors: 0\n\t Link 2: Recovery Errors: 3")
    (LinkErrors(gpu=0, link=2, counts={'replay': 0, 'recovery': 3}),)
    """
    counts: dict[tuple[int, int], dict[str, int]] = {}
    listed = False
    for gpu, _, line in _lines_by_gpu(text):
        listed = True
        told = COUNTER_LINE.match(line)
        name = COUNTERS.get(told[2].lower()) if told else None
        if told and name:
            of_link = counts.setdefault((gpu, int(told[1])), {})
            of_link[name] = max(of_link.get(name, 0), int(told[3]))
    if not listed:
        raise LookupError("no GPU")
    return tuple(LinkErrors(gpu=gpu, link=link, counts=known) for (gpu, link), known in sorted(counts.items()))


def _lines_by_gpu(text: str) -> Iterator[tuple[int, str, str]]:
    """Every line from the first GPU's on, with the GPU it is about: index and name."""
    gpu, name = -1, ""
    for line in text.splitlines():
        if heading := GPU_LINE.match(line):
            gpu, name = int(heading[1]), heading[2]
        if gpu >= 0:
            yield gpu, name, line
