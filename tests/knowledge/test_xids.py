"""The Xid and SXid tables: complete, consistent, and free of the mistakes of other tools."""

from collections import Counter

import pytest

from rigwise.knowledge.sxids import sxid, sxids
from rigwise.knowledge.xids import (
    XidFamily,
    XidRole,
    XidRow,
    XidSeverity,
    blame_words,
    nvlink5,
    nvlink5_rows,
    older_xids,
    xid,
    xids,
)

ROWS = [*xids().values(), *older_xids().values()]
OF_ACTION = {
    "IGNORE": XidSeverity.NOTE,
    "RESTART_APP": XidSeverity.WARNING,
    "RESET_GPU": XidSeverity.SERIOUS,
    "RESTART_BM": XidSeverity.SERIOUS,
    "RESTART_VM": XidSeverity.SERIOUS,
}
OTHERWISE = {
    43: "what a program did to itself is worth a warning, though NVIDIA says to ignore it",
    106: "a test message",
    107: "a test message",
    137: "it follows from a program's fault, and is a warning where it stands alone",
    156: "the part is retired at the next reset; nothing is lost",
    157: "NVIDIA says to ignore it, and to investigate",
    161: "NVIDIA says to ignore it, and to investigate",
}
"""Codes whose severity is not that of NVIDIA's immediate action, and why."""


def test_all_172_codes_are_there_and_63_are_unused() -> None:
    assert list(xids()) == list(range(1, 173))
    assert sum(row.unused for row in xids().values()) == 63
    assert all((row.name == "Unused") is row.unused for row in xids().values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{'older-' if row.older else ''}{row.code}")
def test_a_row_says_everything(row: XidRow) -> None:
    assert row.name
    assert row.mnemonic
    assert row.blame
    assert set(row.blame) <= set(blame_words())
    assert row.what_to_do.endswith(".")
    assert row.what_to_do.count(". ") == 0
    assert row.source.startswith("https://")
    assert row.checked_on == "2026-11-30"


@pytest.mark.parametrize("row", xids().values(), ids=lambda row: row.code)
def test_severity_follows_nvidias_action(row: XidRow) -> None:
    if not row.unused and row.code not in OTHERWISE and row.action in OF_ACTION:
        assert row.severity is OF_ACTION[row.action]


def test_every_exception_is_one() -> None:
    assert all(OF_ACTION[row.action] is not row.severity for row in map(xids().__getitem__, OTHERWISE))


def test_a_programs_fault_is_never_a_reason_to_replace_a_card() -> None:
    for row in ROWS:
        if row.family is XidFamily.APPLICATION:
            assert "replace" not in row.rma + row.what_to_do
            assert row.severity is not XidSeverity.SERIOUS
    assert {row.code for row in xids().values() if row.rma} == {64, 79, 140}


def test_followers_and_the_label() -> None:
    roles = {role: {row.code for row in xids().values() if row.role is role} for role in XidRole}
    assert roles[XidRole.FOLLOWER] == {43, 45, 137}
    assert roles[XidRole.LABEL] == {154}


DCGM_TEXTS = {
    38: ("pcie", "firmware"),
    39: ("fabric", "copy engine"),
    42: ("replay", "video"),
    54: ("state change", "power is not connected"),
    56: ("clock", "display"),
    57: ("clock", "memory interface"),
    58: ("thermal", "memory interface"),
    60: ("thermal", "video"),
    61: ("brake", "micro-controller"),
    62: ("thermal", "micro-controller halt"),
    67: ("nvlink", "illegal access"),
    73: ("nvlink", "video encoder"),
    78: ("power", "vgpu"),
}
"""What DCGM's health watch says of 13 codes (BuildXidMappings at 72fa3fea), against NVIDIA's own meaning."""


@pytest.mark.parametrize(("code", "texts"), DCGM_TEXTS.items())
def test_the_mistakes_of_dcgm_are_not_ours(code: int, texts: tuple[str, str]) -> None:
    row = xid(code)
    assert row is not None
    wrong, right = texts
    assert right in row.name.lower()
    assert wrong not in row.name.lower()


def test_a_halted_micro_controller_is_no_thermal_problem() -> None:
    row = xid(62)
    assert row is not None
    assert (row.family, row.severity, row.blame[0]) == (XidFamily.DRIVER, XidSeverity.SERIOUS, "D")


@pytest.mark.parametrize(
    ("code", "driver", "older"),
    [
        (16, "", True),
        (16, "390.157", True),
        (16, "570.124.06", True),
        (5, "390.157", False),
        (63, "470.82.01", True),
        (63, "500.1", False),
        (63, "", False),
        (79, "340.108", False),
        (63, "garbled", False),
    ],
)
def test_the_driver_chooses_the_table(code: int, driver: str, older: bool) -> None:
    row = xid(code, driver)
    assert row is not None
    assert row.older is older


def test_nvlink5_has_the_94_statuses_of_the_catalog() -> None:
    assert Counter(row.xid for row in nvlink5_rows()) == {144: 6, 145: 33, 146: 20, 147: 2, 148: 1, 149: 31, 150: 1}


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x0)", XidSeverity.NOTE),
        ("145, RLW_REMAP Nonfatal XC0 i0 Link 00 (0x00000004 0x00000001 0x0 0x0)", XidSeverity.WARNING),
        ("145, RLW_REMAP Fatal XC1 i0 Link 10 (0x00000082 0x00000040 0x0 0x0)", XidSeverity.SERIOUS),
        ("146, TLW_RX Fatal XC0 i0 Link 00 (0x0000000a 0x00000004 0x0 0x0)", XidSeverity.SERIOUS),
        ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000 0x0)", XidSeverity.WARNING),
        ("149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 00 (0x00000013 0x00000002 0x0)", XidSeverity.NOTE),
        ("150, MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x00000000 0x00000000 0x0)", XidSeverity.SERIOUS),
        ("149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000007 0x0)", None),
        ("145, RLW_REMAP Nonfatal XC0 i0 Link 00 (...)", None),
        ("", None),
    ],
)
def test_nvlink5_registers_tell_a_fatal_error_from_a_harmless_one(line: str, severity: XidSeverity | None) -> None:
    decoded = nvlink5(int(line[:3] or 0), line)
    assert (decoded.severity if decoded else None) is severity


def test_sxids_are_complete_and_each_says_what_to_do() -> None:
    assert len(sxids()) == 398
    assert all(row.what_to_do.endswith(".") for row in sxids().values())
    assert all(row.fatal is (row.action != "IGNORE") for row in sxids().values())
    assert {code // 1000 for code in sxids()} == set(range(10, 31))


@pytest.mark.parametrize(
    ("code", "action"),
    [
        (10004, "CHECK_THERMALS"),
        (11004, "CHECK_FM_CONFIG"),
        (12028, "RESET_FABRIC"),
        (19084, "RESET_FABRIC"),
        (20001, "IGNORE"),
        (20012, "CHECK_LINK_MECHANICAL_CONNECTIONS"),
        (20034, "RESET_GPU"),
        (22003, "RESET_FABRIC"),
        (24007, "RESET_GPU"),
        (28003, "CHECK_THERMALS"),
    ],
)
def test_sxids_say_what_nvsentinel_says(code: int, action: str) -> None:
    row = sxid(code)
    assert row is not None
    assert row.action == action
