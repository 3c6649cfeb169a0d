"""When a line of a log was written, on the log's own scale, in whatever style the log has.

Kernel logs come from dmesg (seconds since the start), dmesg -T, --time-format iso, /dev/kmsg, journalctl, syslog and
container log collectors; the fabric manager has a style of its own.
"""

import re
from datetime import UTC, datetime, timedelta

HEAD_CHARACTERS = 100
"""Times stand at the beginning of a line, behind a collector's prefix at most."""
DRIVER = "NVRM:"
"""The driver's own words begin here; some of them hold the date on which the driver was built."""
UNKNOWN_YEAR = 1972
"""Stands in where syslog writes none: a leap year, long before any date that is known (DATED_SECONDS)."""
_ISO = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?\s?(?P<zone>[+-]\d\d:?\d\d)?"
)
_NAMED = re.compile(
    r"(?P<name>[^\W\d_]{3,9})\.?\s{1,3}(?P<day>\d{1,2})\s(?:(?P<year>\d{4})\s)?"
    r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?(?:\s(?P<year_behind>\d{4})\b)?"
)
_SINCE_START = re.compile(r"\[\s*(\d{1,9})[.,](\d{1,9})\]")
_EPOCH = re.compile(r"\s*(\d{10})\.(\d{1,9})\s")
_KMSG = re.compile(r"\s*\d{1,4},\d{1,12},(\d{1,18}),")
_MONTHS = (
    ("jan", "ene", "gen"),
    ("feb", "fév", "fev"),
    ("mar", "mär", "mrt", "maa"),
    ("apr", "avr", "abr"),
    ("may", "mai", "mag", "mei"),
    ("jun", "juin", "giu"),
    ("jul", "juil", "lug"),
    ("aug", "aoû", "ago"),
    ("sep", "set"),
    ("oct", "okt", "ott", "out"),
    ("nov",),
    ("dec", "déc", "dez", "dic"),
)
"""The beginnings of the months in the locales that journalctl and dmesg -T are seen with."""


def log_seconds(line: str) -> float | None:
    """Seconds on the log's own scale; None for a line without a time.

    >>> log_seconds("[ 7211.604409] NVRM: x"), log_seconds("6,3964,206764307,-;nvidia"), log_seconds("NVRM: x")
    (7211.604409, 206.764307, None)
    >>> log_seconds("kern  :warn  : 2025-01-21T04:41:44,283302+00:00 NVRM: x")
    1737434504.283302
    >>> log_seconds("[Sun Feb 23 16:24:18 2025] NVRM: x") == log_seconds("[Feb 23 2025 16:24:18] [ERROR] x")
    True
    >>> log_seconds("Okt 06 17:59:27 host kernel: x") == log_seconds("Oct  6 17:59:27 host kernel: [ 1.25] NVRM: x")
    True
    """
    head = line[:HEAD_CHARACTERS].partition(DRIVER)[0]
    for pattern in (_ISO, _NAMED):
        found = pattern.search(head)
        seconds = _calendar(found) if found else None
        if seconds is not None:
            return seconds
    found = _EPOCH.match(head) or _SINCE_START.search(head)
    if found:
        return float(f"{found[1]}.{found[2]}")
    found = _KMSG.match(head)
    return int(found[1]) / 1e6 if found else None


def _calendar(found: re.Match[str]) -> float | None:
    """The seconds of a date; None for one that does not exist, such as a word that is no month."""
    part = found.groupdict()
    month = int(part["month"]) if "month" in part else _month(part["name"])
    year = int(part["year"] or part.get("year_behind") or UNKNOWN_YEAR)
    try:
        moment = datetime(
            year, month, int(part["day"]), int(part["hour"]), int(part["minute"]), int(part["second"]), tzinfo=UTC
        )
        return (moment - _offset(part.get("zone"))).timestamp() + float(f"0.{part['fraction'] or 0}")
    except (ValueError, OverflowError):
        return None


def _month(name: str) -> int:
    """1 to 12; 0, which no date has, for a word that is no month."""
    word = name.lower()
    for number, starts in enumerate(_MONTHS, 1):
        if word.startswith(starts):
            return number
    return 0


def _offset(zone: str | None) -> timedelta:
    """How far a zone is ahead of UTC: `+01:00`, `-0400`."""
    if not zone:
        return timedelta()
    ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -ahead if zone[0] == "-" else ahead
