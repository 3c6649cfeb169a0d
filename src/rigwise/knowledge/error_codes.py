"""Return codes of NVML, CUDA, cuDNN, cuBLAS and NCCL, and exit statuses: one row a code in error_codes.csv, read once.

Codes and names are those of the vendors' headers (CUDA 13.0, cuDNN 9.24, NCCL 2.30, nvidia-ml-py 13.615); the words are
ours. CUDA's runtime renumbered its errors in 10.1, cuDNN in 9.0: older numbers stand under a library name of their own.
"""

import csv
from functools import cache
from importlib import resources

import msgspec

from rigwise.speech import say


class ErrorCode(msgspec.Struct, frozen=True, kw_only=True):
    """One code of one library."""

    library: str
    """`NVML`, `CUDA runtime`, `CUDA driver`, `cuDNN`, `cuBLAS`, `NCCL`, `exit status`; older numberings apart."""
    code: int
    name: str
    """As the header names it: `cudaErrorNoDevice`."""
    meaning: str
    blame: str
    """As in knowledge/signatures; `nobody` for a code that is no fault."""
    check: str
    """The check whose fault it is; "" where it is none's."""
    action: str
    """What to do, in one sentence; "" where the check says it."""
    source: str
    checked_on: str


@cache
def error_codes() -> tuple[ErrorCode, ...]:
    """Every code, library by library, in the user's language."""
    text = resources.files("rigwise.knowledge").joinpath("error_codes.csv").read_text(encoding="utf-8")
    return tuple(_row(row) for row in csv.DictReader(text.splitlines()))


def codes_numbered(number: int, libraries: tuple[str, ...] = ()) -> tuple[ErrorCode, ...]:
    """What a number means to each library that has it, or to the named ones, newest numbering first.

    >>> [(row.library, row.name) for row in codes_numbered(802)][0]
    ('CUDA runtime', 'cudaErrorSystemNotReady')
    """
    return tuple(row for row in error_codes() if row.code == number and row.library.startswith(libraries or ("",)))


def codes_named(name: str) -> tuple[ErrorCode, ...]:
    """The codes of that name, however it is written: with or without underscores, in any case.

    >>> codes_named("NVMLError_GpuIsLost")[0].code, codes_named("CUDA_ERROR_NO_DEVICE")[0].code, codes_named("x")
    (15, 100, ())
    """
    wanted = plain_name(name)
    return tuple(row for row in error_codes() if plain_name(row.name) == wanted)


def plain_name(name: str) -> str:
    """A name without underscores, hyphens, spaces and capitals.

    >>> plain_name("CUDA_ERROR_NO_DEVICE")
    'cudaerrornodevice'
    """
    return "".join(character for character in name.casefold() if character.isalnum())


def _row(row: dict[str, str]) -> ErrorCode:
    told = row | {"meaning": say(row["meaning"]), "action": say(row["action"])}
    return msgspec.convert(told, ErrorCode, strict=False)
