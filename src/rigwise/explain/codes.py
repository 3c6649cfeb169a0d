"""Codes and names: Xid, SXid, clock event reasons, return codes, checks. A bare number may mean several things."""

import difflib
from collections.abc import Iterator, Mapping

from rigwise.explain.spelled import MAX_LENGTH, mask_written, names_written, number_written, plain, xids_written
from rigwise.explain.words import blame_words, by_the_code, of_check
from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.knowledge.clock_event_reasons import ClockEventReason, ClockEventVerdict, clock_event_reasons, reasons_in
from rigwise.knowledge.error_codes import ErrorCode, codes_named, codes_numbered, error_codes, plain_name
from rigwise.knowledge.sxids import SxidRow, sxid, sxids
from rigwise.knowledge.xids import XidRow, xid, xids
from rigwise.records.explanation import Explanation
from rigwise.speech import say

FALLEN_OFF_THE_BUS = 79
MOST_DIGITS = 10
SHORTEST_PART, SHORTEST_OF_AN_XID = 4, 8
"""Our choice: characters by which a part of a name is looked up."""
MOST_NAMED = 6
"""Our choice: a part of more names than that, such as `error`, says nothing."""
MOST_WORDS_OF_A_NAME = 3
"""More words than that are a text, not a name."""


def explain_code(words: str) -> tuple[Explanation, ...]:
    """Everything that a code, a number or a name stands for; none where it is none of these.

    >>> [one.subject for one in explain_code("xid 79")], explain_code("hello")
    (['Xid 79'], ())
    """
    if len(words) > MAX_LENGTH:
        return ()
    written = plain(words)
    kind, codes = xids_written(written)
    if codes:
        return tuple(one for code in codes for one in (_of_sxid(sxid(code)) if kind == "sxid" else _of_xid(xid(code))))
    if written.isdecimal() and len(written) <= MOST_DIGITS:
        return tuple(_of_number(int(written)))
    numbered = number_written(written)
    if numbered is not None:
        return tuple(_of_codes(codes_numbered(numbered.number, numbered.libraries)))
    mask = mask_written(written)
    return _of_mask(mask) if mask is not None else tuple(_of_name(words.strip()))


def beyond_the_tables(words: str) -> str:
    """What is known of an Xid or SXid that stands in no table; "" for anything else.

    >>> beyond_the_tables("xid 999"), beyond_the_tables("hello")
    ("Xid 999 is not in NVIDIA's catalog as rigwise holds it (1 to 172, read on 2026-11-30).", '')
    """
    kind, codes = xids_written(plain(words)) if len(words) <= MAX_LENGTH else ("", ())
    if not codes:
        return ""
    table: Mapping[int, XidRow | SxidRow] = sxids() if kind == "sxid" else xids()
    return say(
        "{kind} {codes} is not in NVIDIA's catalog as rigwise holds it ({first} to {last}, read on {date}).",
        kind="SXid" if kind == "sxid" else "Xid",
        codes=", ".join(map(str, codes)),
        first=min(table),
        last=max(table),
        date=max(row.checked_on for row in table.values()),
    )


def _of_number(number: int) -> Iterator[Explanation]:
    yield from _of_codes(codes_numbered(number))
    yield from _of_xid(xid(number))
    yield from _of_sxid(sxid(number))


def _of_name(name: str) -> Iterator[Explanation]:
    if (check := "_".join(plain(name).split())) in check_catalogue():
        yield of_check(check)
    yield from _of_codes(codes_named(name))
    wanted = plain_name(name)
    for row in xids().values():
        if wanted and wanted in (plain_name(row.mnemonic), plain_name(row.name)) and not row.unused:
            yield from _of_xid(row)
    for switch_row in sxids().values():
        if wanted and wanted == plain_name(switch_row.name):
            yield from _of_sxid(switch_row)
    spellings = {plain_name(one).removesuffix("slowdown") for one in names_written(plain(name))} - {""}
    for reason in clock_event_reasons():
        if spellings & {plain_name(one).removesuffix("slowdown") for one in (reason.name, reason.nvml_name)}:
            yield _of_reason(reason)


def _of_codes(rows: tuple[ErrorCode, ...]) -> Iterator[Explanation]:
    """One explanation for rows that say the same of a number, such as CUDA's runtime and driver."""
    alike: dict[tuple[str, str, str], list[ErrorCode]] = {}
    for row in rows:
        alike.setdefault((row.meaning, row.check, row.action), []).append(row)
    for same in alike.values():
        yield _of_code(same)


def _of_code(rows: list[ErrorCode]) -> Explanation:
    first = rows[0]
    fault = check_catalogue().get(first.check)
    return Explanation(
        subject="; ".join(f"{row.library} {row.code}, {row.name}" for row in rows),
        meaning=first.meaning,
        blame=blame_words(first.blame),
        certainty=by_the_code(),
        surer=say("Read the lines around it: the first error of a program is its cause, later ones follow."),
        fix=first.action or (fault.action if fault else ""),
        next_steps=fault.next_steps if fault else (),
        check=first.check,
        sources=tuple(dict.fromkeys(row.source for row in rows)),
    )


def _of_xid(row: XidRow | None) -> Iterator[Explanation]:
    if row is None:
        return
    meaning = say("{name} ({mnemonic}).", name=row.name, mnemonic=row.mnemonic) if row.mnemonic else f"{row.name}."
    if row.role != "root":
        meaning += " " + say("It follows from another Xid, where there is one: look at the line before.")
    yield Explanation(
        subject=say("Xid {code}", code=row.code),
        meaning=meaning,
        blame=row.blamed,
        certainty=say("older drivers' meaning") if row.older else say("NVIDIA's catalog says so"),
        surer=row.rma or say("See whether it comes again, on the same card and with another program."),
        fix=row.what_to_do,
        next_steps=("sudo dmesg | grep -E 'NVRM|Xid'", "nvidia-smi -q"),
        check=_check_of(row),
        sources=(row.source,),
    )


def _check_of(row: XidRow) -> str:
    """The check that looks for it, where the catalogue has one."""
    check = "gpu_lost" if row.code == FALLEN_OFF_THE_BUS else f"xid_{row.family}"
    return check if check in check_catalogue() else ""


def _of_sxid(row: SxidRow | None) -> Iterator[Explanation]:
    if row is None:
        return
    gravity = say("a fatal error of an NVSwitch") if row.fatal else say("an error of an NVSwitch that is not fatal")
    yield Explanation(
        subject=say("SXid {code}", code=row.code),
        meaning=say("{name}: {gravity}.", name=row.name or say("no published name"), gravity=gravity),
        blame=blame_words("link"),
        certainty=say("by the table; the log line itself says fatal or non-fatal for its port"),
        surer=say("Read the Xids of the GPUs at the same time: a program or GPU that failed first brings it with it."),
        fix=row.what_to_do,
        next_steps=("sudo dmesg | grep -E 'SXid|Xid'", "systemctl status nvidia-fabricmanager"),
        check="sxid_fatal" if row.fatal else "sxid_nonfatal",
        sources=(row.source,),
    )


def _of_mask(mask: int) -> tuple[Explanation, ...]:
    """Each reason of a mask of clock event reasons, the gravest first."""
    order = (ClockEventVerdict.SERIOUS, ClockEventVerdict.WATCH, ClockEventVerdict.BENIGN)
    found = sorted(reasons_in(mask), key=lambda reason: order.index(reason.verdict))
    if found or mask:
        return tuple(_of_reason(reason) for reason in found)
    return (_no_reason(),)


def _of_reason(reason: ClockEventReason) -> Explanation:
    fix = {
        ClockEventVerdict.BENIGN: say("Nothing, unless the clocks are lower than you expect."),
        ClockEventVerdict.WATCH: say("Look for what share of the time it holds while the GPU works."),
        ClockEventVerdict.SERIOUS: say("See to cooling and power supply if it lasts while the GPU works."),
    }[reason.verdict]
    return Explanation(
        subject=say("clock event reason {bit}, {name}", bit=f"{reason.bit:#x}", name=reason.name),
        meaning=reason.meaning,
        blame=blame_words("nobody" if reason.verdict is ClockEventVerdict.BENIGN else "power") if reason.source else "",
        certainty=by_the_code(),
        surer=say("Judge a share of a window, never one sample: read it some times while the GPU works."),
        fix=fix,
        next_steps=("nvidia-smi -q -d PERFORMANCE",),
        check="clocks_held_back" if reason.verdict is ClockEventVerdict.SERIOUS else "",
        sources=(reason.source,) if reason.source else (),
    )


def _no_reason() -> Explanation:
    return Explanation(
        subject=say("clock event reasons 0x0"),
        meaning=say("Nothing holds the clocks back."),
        blame=blame_words("nobody"),
        certainty=by_the_code(),
        surer="",
        fix=say("Nothing."),
        next_steps=(),
        check="",
    )


def explain_named(words: str) -> tuple[Explanation, ...]:
    """The few clock event reasons and Xids whose names hold these words: `thermal slowdown`, `fallen off the bus`."""
    wanted = plain_name(words)
    if len(wanted) < SHORTEST_PART:
        return ()
    reasons = [_of_reason(reason) for reason in clock_event_reasons() if wanted in plain_name(reason.name)]
    is_long = len(wanted) >= SHORTEST_OF_AN_XID
    rows = [row for row in xids().values() if is_long and wanted in plain_name(row.name) and not row.unused]
    found = (*reasons, *(one for row in rows for one in _of_xid(row)))
    return found if len(found) <= MOST_NAMED else ()


def similar_names(words: str) -> tuple[str, ...]:
    """Names of codes and checks that are written similarly, the most similar first."""
    if len(words) > MAX_LENGTH or len(words.split()) > MOST_WORDS_OF_A_NAME:
        return ()
    names = {plain_name(row.name): row.name for row in error_codes()} | {
        plain_name(one): one for one in check_catalogue()
    }
    return tuple(names[near] for near in difflib.get_close_matches(plain_name(words), names, n=3))
