"""Output of `lsblk` with a column ROTA, or of `lsblk -dno NAME,ROTA,MODEL`."""

from rigwise.records.host import Disk

NO_DISKS = ("loop", "fd", "sr", "zram", "ram")
"""Images, drives with removable media, and memory: `lsblk -a` calls some of them rotational too."""


def disks(text: str) -> tuple[Disk, ...]:
    """The disks with their kind and model.

    >>> [disk.rotational for disk in disks('''NAME    ROTA MODEL
    ... sda        1 ST4000DM004-2CV104
    ... nvme0n1    0 Samsung SSD 990 PRO 2TB''')]
    [True, False]
    """
    header = "NAME ROTA MODEL"
    found = []
    for line in text.splitlines():
        cells = line.split()
        if cells[:1] == ["NAME"]:
            header = line
        elif cells and cells[0][0].isalpha() and not cells[0].startswith(NO_DISKS):
            rotational = _rotational(line, header)
            if rotational in ("0", "1"):
                found.append(Disk(name=cells[0], model=_model(cells, header), rotational=rotational == "1"))
    if not found:
        raise LookupError("ROTA")
    return tuple(found)


def _rotational(line: str, header: str) -> str:
    """What stands below ROTA; where the spaces were lost, or there is no header, the cell of the same number."""
    place, columns, cells = header.find("ROTA"), header.split(), line.split()
    below = line[place : place + len("ROTA")].strip() if place >= 0 else ""
    if below in ("0", "1") or "ROTA" not in columns or len(cells) <= columns.index("ROTA"):
        return below
    return cells[columns.index("ROTA")]


def _model(cells: list[str], header: str) -> str:
    columns = header.split()
    return " ".join(cells[len(columns) - 1 :]) if columns[-1] == "MODEL" else ""
