"""Output of `lsblk` with a column ROTA, or of `lsblk -dno NAME,ROTA,MODEL`."""

from rigwise.records.host import Disk


def disks(text: str) -> tuple[Disk, ...]:
    """The disks with their kind and model.

    >>> [disk.rotational for disk in disks('''NAME    ROTA MODEL
    ... sda        1 ST4000DM004-2CV104
    ... nvme0n1    0 Samsung SSD 990 PRO 2TB''')]
    [True, False]
    """
    columns = ["NAME", "ROTA", "MODEL"]
    found = []
    for line in text.splitlines():
        cells = line.split()
        if cells[:1] == ["NAME"]:
            columns = cells
        elif cells and "ROTA" in columns and len(cells) > columns.index("ROTA"):
            rotational = cells[columns.index("ROTA")]
            model = " ".join(cells[len(columns) - 1 :]) if columns[-1] == "MODEL" else ""
            if rotational in ("0", "1") and cells[0][0].isalpha():
                found.append(Disk(name=cells[0], model=model, rotational=rotational == "1"))
    if not found:
        raise LookupError("ROTA")
    return tuple(found)
