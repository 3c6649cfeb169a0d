"""First cause, not last symptom: sequences as they stand in public bug reports."""

import pytest

from rigwise.knowledge.xid_bursts import bursts
from rigwise.knowledge.xids import XidFamily, XidSeverity
from rigwise.records.kernel_events import EventKind, LogEvent


def event(code: int, seconds: float | None = 0.0, address: str = "0000:41:00", words: str = "x") -> LogEvent:
    line = f"NVRM: Xid (PCI:{address}): {code}, {words}"
    return LogEvent(kind=EventKind.XID, code=code, seconds=seconds, address=address, line=line)


def roots(*events: LogEvent) -> list[int | None]:
    return [burst.root.code for burst in bursts(events)]


@pytest.mark.parametrize(
    ("codes", "root"),
    [
        ([13, 13, 43], 13),
        ([43, 13], 13),
        ([45, 45, 31, 45], 31),
        ([45], 45),
        ([43], 43),
        ([154], 154),
        ([119, 119, 154], 119),
        ([119, 79, 154], 79),
        ([13, 109], 13),
        ([109, 13], 109),
        ([13, 119, 43], 119),
        ([8, 61], 61),
        ([13, 154], 13),
        ([13, 48, 63, 45], 48),
        ([63, 48], 48),
        ([94, 63], 94),
        ([31, 94, 45], 94),
        ([74, 62], 74),
        ([137, 145, 45], 145),
        ([137], 137),
        ([63], 63),
        ([31, 63], 31),
    ],
)
def test_the_root_of_a_burst(codes: list[int], root: int) -> None:
    assert roots(*(event(code, float(second)) for second, code in enumerate(codes))) == [root]


def test_three_minutes_of_silence_end_a_burst() -> None:
    assert roots(event(13, 0.0), event(43, 180.0)) == [13]
    assert roots(event(13, 0.0), event(43, 181.0)) == [13, 43]


def test_every_gpu_has_bursts_of_its_own() -> None:
    found = bursts((event(79, 0.0, "0000:41:00"), event(45, 0.1, "0000:42:00"), event(154, 0.2, "0000:41:00")))
    assert [(burst.root.address, burst.root.code, len(burst.events)) for burst in found] == [
        ("0000:41:00", 79, 2),
        ("0000:42:00", 45, 1),
    ]


def test_without_times_everything_is_one_burst_and_a_restart_of_the_scale_ends_one() -> None:
    assert roots(event(13, None), event(43, None)) == [13]
    assert roots(event(13, 900.0), event(43, 12.0)) == [13, 43]


def test_a_burst_is_as_grave_as_the_gravest_of_its_family() -> None:
    severities = {
        tuple(codes): bursts(tuple(event(code) for code in codes))[0].severity
        for codes in ([63], [63, 64], [94], [94, 95])
    }
    assert severities == {
        (63,): XidSeverity.NOTE,
        (63, 64): XidSeverity.SERIOUS,
        (94,): XidSeverity.WARNING,
        (94, 95): XidSeverity.SERIOUS,
    }


@pytest.mark.parametrize(
    ("words", "recovery", "severity"),
    [
        ("GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", 1, XidSeverity.SERIOUS),
        ("GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)", 2, XidSeverity.SERIOUS),
        ("GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)", 3, XidSeverity.WARNING),
        ("GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", 4, XidSeverity.SERIOUS),
        ("GPU recovery action changed from 0x1 (PF FLR) to 0x0 (None)", 0, XidSeverity.WARNING),
        ("GPU recovery action changed from 0x0 (No", None, XidSeverity.WARNING),
    ],
)
def test_what_the_driver_asks_for_makes_a_burst_grave(words: str, recovery: int, severity: XidSeverity) -> None:
    (burst,) = bursts(
        (
            event(13),
            event(154, words=words),
        )
    )
    assert (burst.root.code, burst.recovery, burst.severity) == (13, recovery, severity)


def test_a_follower_that_names_its_cause_speaks_for_it() -> None:
    (burst,) = bursts((event(45, words="pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149"),))
    assert (burst.root.code, burst.row.code, burst.row.family) == (45, 149, XidFamily.NVLINK)


def test_trouble_of_the_minute_before_is_kept() -> None:
    def aer(seconds: float) -> LogEvent:
        return LogEvent(kind=EventKind.AER, seconds=seconds, line="PCIe Bus Error")

    (burst,) = bursts(
        (
            aer(30.0),
            aer(50.0),
            event(79, 100.0),
            aer(101.0),
        )
    )
    assert [one.seconds for one in burst.before] == [50.0]


def test_a_code_newer_than_the_tables_is_named_by_its_number() -> None:
    (burst,) = bursts((event(250),))
    assert (burst.root.code, burst.severity) == (250, XidSeverity.WARNING)


def test_nvlink_lines_say_how_grave_they_are() -> None:
    fatal = event(74, words="pid=1, NVLink: fatal error detected on link 6(0x0, 0x0, 0x10000, 0x0)")
    mild = event(74, words="pid=1, NVLink: non-fatal error detected on link 6(0x1, 0x0)")
    assert [bursts((one,))[0].severity for one in (fatal, mild)] == [XidSeverity.SERIOUS, XidSeverity.WARNING]
