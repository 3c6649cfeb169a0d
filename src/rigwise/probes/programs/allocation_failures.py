"""Out-of-memory texts of PyTorch, TensorFlow, JAX, PaddlePaddle, CuPy, vLLM and llama.cpp, as the numbers they hold."""

import re
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from rigwise.knowledge.signatures import is_only_spoken_of, literal_of
from rigwise.probes.programs.quoting import quoted
from rigwise.records.evidence import Quote
from rigwise.records.told import AllocationFailure

_REACH = 1200
"""Characters after the start of a text in which its numbers stand; the longest known one has about 900."""
_LOOK_BACK = 4000
"""Characters before it in which a progress line is looked for."""
_UNITS = {"bytes": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "EB": 2**60}
_UNITS |= {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
"""PaddlePaddle writes binary sizes so (paddle/common/string, HumanReadableSize)."""
_SIZE = r"([\d.,]{1,24})\s{0,40}(bytes|B\b|[KMGT]i?B|EB)"
_PROGRESS = re.compile(
    r"\b(?:[Ss]tep|[Ii]ter(?:ation)?|[Bb]atch)\s{0,3}[:=#\[]?\s{0,3}(\d{1,9})\b|\b(\d{1,9})/\d{1,9} \["
)
_RECOVERED = re.compile(
    r"[Rr]etry|[Ss]kipping (?:this )?batch|[Tt]rying batch size|retrying without pipeline parallelism"
)
WORK_WITHIN = 2**20
"""Characters from the end of a text in which a program that gets on with its work shows it."""
_AT_WORK = re.compile(
    r"\d(?:it|s)/(?:s|it)\b|\btok(?:en)?s?/s(?:ec)?\b|\bloss'?\s{0,3}[:=]?\s{0,3}\d"
    r"|offloaded [1-9]\d*/\d+ layers to GPU|Init COMPLETE|Created device [^\n]{0,80}device:GPU:\d"
    r"|Application startup complete|Capturing CUDA graphs: 100%"
)
"""Progress bars, losses and speeds; what vLLM, llama.cpp, NCCL and TensorFlow print once they hold their memory."""
_BROKE_OFF = re.compile(
    r"\n\w*(?:Error|Exception)\b|Traceback \(most recent call last\)|Segmentation fault|core dumped|terminate called"
)
"""Each branch begins with a character of its own, so that few places are tried."""


class Form(NamedTuple):
    """One program's way of saying it: how the text starts, and where in it each number stands."""

    program: str
    start: re.Pattern[str]
    fields: dict[str, re.Pattern[str]]


def _form(program: str, start: str, **fields: str) -> Form:
    """A space in a pattern stands for any white space; `SIZE` for a number of bytes."""
    patterns = {name: re.compile(_spaced(pattern)) for name, pattern in fields.items()}
    return Form(program, re.compile(_spaced(start)), patterns)


def _spaced(pattern: str) -> str:
    return pattern.replace(" ", r"\s{1,40}").replace("SIZE", _SIZE)


FORMS = (
    _form(
        "PyTorch",
        r"CUDA out of memory\. Tried to allocate",
        requested=r"Tried to allocate (?:more than )?SIZE",
        total=r"SIZE total capacity|total capaci?ty of SIZE",
        free=r"SIZE free;|of which SIZE is free",
        allocated=r"SIZE already allocated|memory SIZE is allocated by PyTorch",
        reserved=r"SIZE (?:reserved in total|cached)",
        cached=r"SIZE is reserved by PyTorch but unallocated",
        process=r"this process has SIZE memory in use",
        limit=r"SIZE allowed",
    ),
    _form(
        "PyTorch",
        r"Allocation on device \d{1,3} would exceed allowed memory",
        requested=r"Requested\s{1,40}: SIZE",
        total=r"Device limit\s{1,40}: SIZE",
        free=r"Free \(according to CUDA\): SIZE",
        allocated=r"Currently allocated\s{1,40}: SIZE",
    ),
    _form("TensorFlow", r"OOM when allocating tensor with shape", shape=r"shape\[([\d,]{1,80})\] and type (\w+)"),
    _form(
        "TensorFlow",
        r"\(GPU_\d+_bfc\) ran out of memory trying to allocate(?![\s\S]{0,120}The caller indicates that this is not)",
        requested=r"allocate SIZE",
    ),
    _form("JAX", r"(?:RESOURCE_EXHAUSTED: )?Out of memory while trying to allocate \d", requested=r"allocate SIZE"),
    _form("JAX", r"Out of memory allocating \d+ bytes\.", requested=r"allocating SIZE"),
    _form("JAX", r"Failed to allocate request for [\d.]+[KMGT]iB", requested=r"request for SIZE"),
    _form(
        "CuPy",
        r"OutOfMemoryError: Out of memory allocating [\d,]+ bytes",
        requested=r"allocating SIZE",
        allocated=r"allocated so far: SIZE",
    ),
    _form(
        "PaddlePaddle",
        r"Out of memory error on GPU \d{1,3}\. Cannot allocate",
        requested=r"Cannot allocate SIZE",
        allocated=r"SIZE memory has been allocated",
        free=r"available memory is only SIZE",
    ),
    _form("llama.cpp", r"allocating [\d.,]+ MiB on device \d+: cudaMalloc failed", requested=r"allocating SIZE"),
    _form(
        "vLLM",
        r"Free memory on device (?:cuda:\d+ )?\(",
        free=r"\(([\d.]+)/[\d.]+ (GiB)\)",
        total=r"\([\d.]+/SIZE\)",
        requested=r"utilization \([\d.]+, SIZE\)",
    ),
)
_SERVERS = {
    "SGLang": re.compile(r"sglang|mem-fraction-static"),
    "vLLM": re.compile(r"\bvllm\b"),
    "text-generation-inference": re.compile(r"text_generation_(?:launcher|server|router)"),
    "ComfyUI": re.compile(r"ComfyUI"),
}
"""Programs that run PyTorch and have switches of their own, by what they print around the text."""
_TYPE_BYTES = {"double": 8, "int64": 8, "half": 2, "bfloat16": 2, "int8": 1, "uint8": 1, "bool": 1}
"""TensorFlow's names; all others take 4 bytes."""


def allocation_failures(text: str, origin: str) -> tuple[AllocationFailure, ...]:
    """Every request for VRAM that a text says failed, in the order of the text.

    >>> told = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 1.00 GiB free;"
    >>> failure = allocation_failures(told, "log")[0]
    >>> failure.requested_bytes == 2 * 2**30, failure.total_bytes == 8 * 2**30, failure.free_bytes == 2**30
    (True, True, True)
    """
    found = [(start, failure) for form in FORMS for start, failure in _failures(form, text, origin)]
    return tuple(failure for _start, failure in sorted(found, key=lambda each: each[0]))


def shows_work(text: str) -> bool:
    """Whether a program printed that it got on with its work, and not that it broke off.

    >>> shows_work("Epoch 1/3: 100%|###| 500/500 [01:12<00:00,  6.94it/s, loss=0.412]"), shows_work("It does not work.")
    (True, False)
    """
    end = text[-WORK_WITHIN:]
    at_work = _AT_WORK.search(end) or _PROGRESS.search(end)
    return at_work is not None and _BROKE_OFF.search(f"\n{text}") is None


def _failures(form: Form, text: str, origin: str) -> Iterator[tuple[int, AllocationFailure]]:
    """Each with its place; a text without the size that was asked for only speaks of it."""
    if literal_of(form.start.pattern) not in text:
        return
    starts = [found.start() for found in form.start.finditer(text) if not is_only_spoken_of(text, found.start())]
    for start, after in zip(starts, [*starts, len(text)][1:], strict=True):
        told = text[start : min(after, start + _REACH)]
        read = {name: _number(name, pattern, told) for name, pattern in form.fields.items()}
        numbers = {name: size for name, size in read.items() if size is not None}
        if {"requested", "shape"} & numbers.keys():
            yield start, _failure(form.program, numbers, text, start, origin)


def _failure(program: str, numbers: dict[str, int], text: str, start: int, origin: str) -> AllocationFailure:
    cached = numbers.get("cached")
    if cached is None and {"reserved", "allocated"} <= numbers.keys():
        cached = numbers["reserved"] - numbers["allocated"]
    return AllocationFailure(
        program=_server(text, start) or program if program == "PyTorch" else program,
        quote=Quote(origin, quoted(text, start, start + 1)),
        requested_bytes=numbers.get("requested", numbers.get("shape")),
        total_bytes=numbers.get("total"),
        free_bytes=numbers.get("free"),
        allocated_bytes=numbers.get("allocated"),
        cached_bytes=cached,
        process_bytes=numbers.get("process"),
        limit_bytes=numbers.get("limit"),
        num_steps_before=_steps_before(text[max(0, start - _LOOK_BACK) : start]),
        recovered=_RECOVERED.search(text, max(0, start - 300), start + _REACH) is not None,
    )


def _server(text: str, start: int) -> str:
    """The program whose PyTorch it was, if it names itself around the text; "" for a script of one's own."""
    around = text[max(0, start - _LOOK_BACK) : start + _REACH]
    return next((name for name, printed in _SERVERS.items() if printed.search(around)), "")


def _number(name: str, pattern: re.Pattern[str], text: str) -> int | None:
    """Bytes; 0 is a number too."""
    found = pattern.search(text)
    if found is None:
        return None
    amount, unit = (group for group in found.groups() if group is not None)
    if name == "shape":
        return prod(int(side) for side in amount.split(",") if side) * _TYPE_BYTES.get(unit, 4)
    return size_bytes(amount, unit)


def size_bytes(amount: str, unit: str) -> int | None:
    """A written size in bytes, whichever way its thousands and decimals are parted; None for no number.

    >>> size_bytes("1900,00", "MiB") == 1900 * 2**20, size_bytes("68,719,476,736", "bytes"), size_bytes("..", "GiB")
    (True, 68719476736, None)
    """
    thousands = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?", amount)
    plain = amount.replace(",", "" if thousands else ".").rstrip(".")
    try:
        return int(float(plain) * _UNITS[unit])
    except ValueError:
        return None


def _steps_before(text: str) -> int | None:
    counts = [int(found[1] or found[2]) for found in _PROGRESS.finditer(text)]
    return counts[-1] if counts else None
