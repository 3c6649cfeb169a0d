"""The ways in which people write a code: `Xid 31, 43`, `CUDA error 700`, `exit code 137`, `signal 9`, `0xc0000005`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_LENGTH = 120
"""Characters; what is longer is a text."""
_AROUND = re.compile(r"^(?:what (?:is|does|means?) |nvidia |nvrm: |kernel: |gpu |error: |got (?:an? )?)+|[ ?.!]+$")
_JOINED = r"(?:[ ,;/&+]|and|then|->)+"
_XIDS = re.compile(
    r"(?P<kind>s?xid)s?(?: \([^()]{1,40}\))?[ :#=_-]*(?:(?:error|code|number|event|is)s?[ :#=]*)*"
    rf"(?P<numbers>\d{{1,5}}(?:{_JOINED}\d{{1,5}})*)(?: (?:error|event)s?)?(?:, (?:pid|name|non-fatal|fatal)\b.*)?"
)
_NUMBERED = re.compile(
    r"(?P<library>[a-z]+(?: (?:runtime|driver))?)?[ _:]*"
    r"(?:(?:error|failure|status|return|exit|code|rc|ret|result|err|is)s?[ _:=#()]*)*(?P<number>-?\d{1,10})\)?"
)
_LIBRARIES = {
    "nvml": ("NVML",),
    "nvidia-smi": ("NVML",),
    "cuda": ("CUDA runtime", "CUDA driver"),
    "cudart": ("CUDA runtime",),
    "cuda runtime": ("CUDA runtime",),
    "cuda driver": ("CUDA driver",),
    "curesult": ("CUDA driver",),
    "cudnn": ("cuDNN",),
    "cublas": ("cuBLAS",),
    "nccl": ("NCCL",),
}
_EXIT = re.compile(
    r"(?:(?:exit|return)(?:ed)? ?(?:with )?(?:code|status|value)?|exitcode|returncode)[ :=(]*(-?\d{1,10})\)?"
)
_SIGNAL = re.compile(r"(?:killed by |terminated by )?sig(?:nal)?[ :#=]*(\d{1,2})(?: \(\w+\))?")
_STATUS = re.compile(r"0x(c[0-9a-f]{7})")
_REASON = re.compile(
    r"(?:clocks?_(?:throttle|event)_reasons?[._]|clocks? (?:throttle|event) reasons?[ .:]+)?(?P<rest>.+)"
)
_MASK = re.compile(r"(?:active|supported)?[ :=]*(0x[0-9a-f]{1,16})(?: ?(?:\(.*\)|active))?")
_SIGNAL_BASE = 128
"""A shell's exit status of a process that a signal ended, less the signal."""


class Numbered(NamedTuple):
    """A code of one of the named libraries; of any where none is named."""

    libraries: tuple[str, ...]
    number: int


def plain(words: str) -> str:
    """The words in small letters, without what people write around a code.

    >>> plain("What is NVIDIA Xid  79?")
    'xid 79'
    """
    return _AROUND.sub("", " ".join(words.casefold().split()))


def xids_written(words: str) -> tuple[str, tuple[int, ...]]:
    """`xid` or `sxid`, and its codes in the order written, each once; nothing where the words are no such code.

    >>> xids_written("xid (pci:0000:01:00): 31"), xids_written("xid 31,43 and 45"), xids_written("xid79")
    (('xid', (31,)), ('xid', (31, 43, 45)), ('xid', (79,)))
    """
    found = _XIDS.fullmatch(words)
    if found is None:
        return "", ()
    return found["kind"], tuple(dict.fromkeys(int(number) for number in re.findall(r"\d+", found["numbers"])))


def number_written(words: str) -> Numbered | None:
    """A return code with or without the library's name, an exit status or a signal; None for anything else.

    >>> number_written("cuda error 700"), number_written("error code 999"), number_written("signal 9")
    (Numbered(libraries=('CUDA runtime', 'CUDA driver'), number=700), Numbered(libraries=(), number=999), \
Numbered(libraries=('exit status',), number=137))
    """
    for pattern, read in ((_EXIT, _status), (_SIGNAL, _of_signal)):
        if found := pattern.fullmatch(words):
            return Numbered(("exit status",), read(int(found[1])))
    if found := _STATUS.fullmatch(words):
        return Numbered(("exit status",), int(found[1], 16))
    found = _NUMBERED.fullmatch(words)
    if found is None:
        return None
    library = (found["library"] or "").removesuffix("error")
    if library in _LIBRARIES:
        return Numbered(_LIBRARIES[library], int(found["number"]))
    return Numbered((), int(found["number"])) if library in ("", "err", "rc", "code", "return", "status") else None


def _status(code: int) -> int:
    """A process's own number for how it ended as a shell or Windows writes it: -9 is 137."""
    if -_SIGNAL_BASE < code < 0:
        return _of_signal(-code)
    return code % 2**32 if code < 0 else code


def _of_signal(signal: int) -> int:
    return _SIGNAL_BASE + signal


def names_written(words: str) -> Iterator[str]:
    """The words as a name of a code, as they are and without the table that people write before it."""
    yield words
    found = _REASON.fullmatch(words)
    if found and found["rest"] != words:
        yield found["rest"]


def mask_written(words: str) -> int | None:
    """A mask of clock event reasons, as nvidia-smi writes it; None for anything else.

    >>> mask_written("clocks_throttle_reasons.active 0x4"), mask_written("active: 0x0000000000000004")
    (4, 4)
    """
    for name in names_written(words):
        if found := _MASK.fullmatch(name):
            return int(found[1], 16)
    return None
