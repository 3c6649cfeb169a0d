"""Output of `free`, with any unit and in any language."""

from typing import NamedTuple

from rigwise.probes.host.columns import size_bytes

KIB = 1024


class FreeMemory(NamedTuple):
    """RAM and swap, in bytes."""

    ram_total: int
    ram_available: int | None
    swap_total: int
    swap_used: int


def memory(text: str) -> FreeMemory:
    r"""What the last output shows.

    >>> memory('''               gesamt      benutzt        frei      gemns.  Puffer/Cache verfügbar
    ... Speicher:     65664980    20000000    36000000      200000     9664980    44000000
    ... Swap:          8388604           0     8388604''').ram_available
    45056000000

    Raises:
        LookupError: there is no line about RAM.
    """
    lines = [_sizes(line) for line in text.splitlines()]
    ram = [n for n, cells in enumerate(lines) if len(cells) >= 6]
    if not ram:
        raise LookupError("RAM")
    cells = lines[ram[-1]]
    rest = [line for line in lines[ram[-1] + 1 :] if line]
    old_style = bool(rest) and len(rest[0]) == 2
    swap = next((line for line in rest if len(line) == 3), ["0", "0", "0"])
    unit = unit_bytes(cells[0])
    available = rest[0][1] if old_style else cells[5]
    total, free, swap_total, swap_used = (size_bytes(cell, unit) for cell in (cells[0], available, *swap[:2]))
    return FreeMemory(total, free, swap_total, swap_used)


def unit_bytes(total: str) -> int:
    """What a bare number counts, guessed from the size of RAM: KiB by default, MiB with -m, GiB with -g, bytes with -b.

    >>> unit_bytes("65664980"), unit_bytes("64126"), unit_bytes("62"), unit_bytes("67240939520")
    (1024, 1048576, 1073741824, 1)
    """
    digits = total.split(",")[0].split(".")[0]
    value = int(digits) if digits.isdecimal() else 0
    if value < 1500:
        return 2**30
    if value < 1_500_000:
        return 2**20
    return KIB if value < 10**10 else 1


def _sizes(line: str) -> list[str]:
    """The sizes of a line after its label, [] where it has none."""
    label, colon, rest = line.rpartition(":")
    cells = rest.split()
    if not colon or not label or not cells or not all(cell[0].isdecimal() for cell in cells):
        return []
    try:
        for cell in cells:
            size_bytes(cell)
    except ValueError:
        return []
    return cells
