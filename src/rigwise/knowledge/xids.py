"""NVIDIA's Xid codes: what each means, who is to blame and what to do. Three tables, read once.

xids.csv        the current catalog, codes 1 to 172, read in gpud's copy of NVIDIA's page
xids_older.csv  what drivers before R500 mean by codes that the current catalog calls unused, or words otherwise
nvlink5.csv     the registers of Xid 144 to 150, which tell a fatal NVLink error from a harmless one

Severity follows NVIDIA's immediate action: to ignore it is a note, to restart the program a warning, to reset the GPU
or more is serious. Blame and sentences are ours, after NVIDIA's older table of causes.
"""

import csv
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from importlib import resources

import msgspec

from rigwise.speech import say

FIRST_CURRENT_BRANCH = 500
"""The older table is that of drivers of the 300 and 400 series."""
_NVLINK5 = re.compile(
    r"\b(?P<unit>[A-Z][A-Z0-9_/]+) +(?P<word>Nonfatal|Fatal)\b[^(]{0,80}"
    r"\((?P<interrupt>0x[0-9a-fA-F]+)[ ,]+(?P<status>0x[0-9a-fA-F]+)"
)


class XidSeverity(StrEnum):
    """How much a code matters, mildest first."""

    BENIGN = "benign"
    NOTE = "note"
    WARNING = "warning"
    SERIOUS = "serious"


class XidRole(StrEnum):
    """What a code is within a burst of codes."""

    ROOT = "root"
    FOLLOWER = "follower"
    """It follows from another Xid, where there is one."""
    LABEL = "label"
    """It names what to do about another Xid."""


class XidFamily(StrEnum):
    """What a code is about; one check tells of each."""

    MEMORY = "memory"
    NVLINK = "nvlink"
    HARDWARE = "hardware"
    DRIVER = "driver"
    APPLICATION = "application"


class XidRow(msgspec.Struct, frozen=True, kw_only=True):
    """One Xid code."""

    code: int
    mnemonic: str
    name: str
    """Its meaning in a few words."""
    blame: tuple[str, ...]
    """H hardware, D driver or firmware, A application, L link or bus, P power or heat; the likeliest first."""
    action: str
    """NVIDIA's immediate action: `RESTART_APP`; "" where the catalog names none."""
    family: XidFamily
    severity: XidSeverity
    role: XidRole
    what_to_do: str
    rma: str
    """When to ask for a replacement; "" where the code alone is never a reason."""
    unused: bool
    """Whether the catalog gives the code no meaning."""
    source: str
    checked_on: str
    older: bool = False
    """Whether the meaning is that of the older table."""

    @property
    def blamed(self) -> str:
        """Who is to blame, in words, the likeliest first: `driver or firmware, then hardware`."""
        return say(", then ").join(blame_words()[letter] for letter in self.blame)


class NvLink5Row(msgspec.Struct, frozen=True, kw_only=True):
    """One status of one NVLink unit, as Xid 144 to 150 report it."""

    xid: int
    units: tuple[str, ...]
    """The unit as logs name it; some have two names."""
    unit_number: int
    """The low seven bits of the first register since driver R575; older drivers use ten bits."""
    subcode: int
    """Bits 20 to 25 of the first register."""
    status: int
    """The second register."""
    fatality: str
    """`fatal`, `link fatal` or `non-fatal`."""
    action: str
    severity: XidSeverity
    side: str
    """Where the catalog sees the fault: `hardware`, `software`, `hardware or software`, `firmware` or ""."""
    source: str
    checked_on: str


@cache
def xids() -> dict[int, XidRow]:
    """The current catalog by code, its sentences in the user's language."""
    return {row.code: row for row in _table("xids.csv", older=False)}


@cache
def older_xids() -> dict[int, XidRow]:
    """The older meanings by code."""
    return {row.code: row for row in _table("xids_older.csv", older=True)}


def xid(code: int, driver_version: str = "") -> XidRow | None:
    """What a code means to a driver; None for a code in neither table.

    An older driver's meaning comes first for it, and stands in where the current catalog gives the code none;
    `older` says that it was taken.

    >>> xid(56).name, xid(56).older, xid(16, "390.48").older, xid(79, "390.48").older, xid(999)
    ('Display engine error', True, True, False, None)
    >>> xid(63, "418.43").name, xid(63, "570.124.06").name
    ('ECC page retirement or row remapping recorded', 'GPU memory remapping recorded')
    """
    current, older = xids().get(code), older_xids().get(code)
    branch = re.match(r"\s*(\d{2,4})\.", driver_version)
    is_older = branch is not None and int(branch[1]) < FIRST_CURRENT_BRANCH
    return older if older and (is_older or current is None or current.unused) else current


@cache
def nvlink5_rows() -> tuple[NvLink5Row, ...]:
    """Every known status of an NVLink unit."""
    return tuple(
        msgspec.convert(
            row | {"units": row["units"].split(), "status": int(row["status"], 16)}, NvLink5Row, strict=False
        )
        for row in _rows("nvlink5.csv")
    )


def nvlink5(code: int, line: str) -> NvLink5Row | None:
    """What the registers in a line of Xid 144 to 150 say; None where they say nothing known.

    >>> nvlink5(145, "145, RLW_REMAP Nonfatal XC0 i0 Link 04 (0x00000004 0x00000001 0x0 0x0)").fatality
    'non-fatal'
    >>> nvlink5(149, "149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 0x00000000 0x0 0x0)").subcode
    37
    """
    found = _NVLINK5.search(line)
    if found is None:
        return None
    names, subcode = set(found["unit"].split("/")), int(found["interrupt"], 16) >> 20 & 0x3F
    status = int(found["status"], 16)
    for row in nvlink5_rows():
        if (row.xid, row.subcode, row.status) == (code, subcode, status) and names & {*row.units, *_short(row.units)}:
            return row
    return None


@cache
def blame_words() -> dict[str, str]:
    """What the letters of blame stand for, in the user's language."""
    return {
        "H": say("hardware"),
        "D": say("driver or firmware"),
        "A": say("the program"),
        "L": say("link or bus"),
        "P": say("power or heat"),
    }


def _short(units: tuple[str, ...]) -> Iterator[str]:
    """`TLW_RX` for `TLW_RX_PIPE0`."""
    return (unit.rpartition("_PIPE")[0] for unit in units if "_PIPE" in unit)


def _table(name: str, *, older: bool) -> Iterator[XidRow]:
    for row in _rows(name):
        told = {field: say(row[field]) for field in ("name", "what_to_do", "rma")}
        fields = row | told | {"blame": row["blame"].split(), "unused": bool(row["unused"]), "older": older}
        yield msgspec.convert(fields, XidRow, strict=False)


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = resources.files("rigwise.knowledge").joinpath(name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())
