"""Which board the machine has and which BIOS it runs, as the firmware says."""

import re

from rigwise.records.evidence import Status
from rigwise.records.reading import Reading, absent, present
from rigwise.sources.source import Source

DMI = "/sys/class/dmi/id"
_FIELDS = ("sys_vendor", "product_name", "board_name", "bios_version", "bios_date")
_LOGGED = re.compile(r"\bDMI: (?P<identity>[^\n]{1,200}, BIOS [^\n]{1,80})")


def read_firmware(source: Source, kernel_log: Reading[tuple[str, ...]]) -> Reading[str]:
    """Vendor, product, board and BIOS in one line, as the kernel writes them at boot (`DMI: ...`)."""
    answers = [source.file(f"{DMI}/{field}") for field in _FIELDS]
    vendor, product, board, version, date = (
        answer.text.strip() if answer.status is Status.OK else "" for answer in answers
    )
    if version:
        machine = "/".join(filter(None, (f"{vendor} {product}".strip(), board)))
        return present("BIOS", f"{machine}, BIOS {version} {date}".strip(), answers[3])
    for line in kernel_log.value_or(()):
        if (logged := _LOGGED.search(line)) is not None:
            return Reading("BIOS", logged["identity"].strip(), kernel_log.status, kernel_log.quote)
    return absent("BIOS", answers[3])
