"""A recording gives the findings of the machine, stays small, and holds nothing that identifies anybody."""

import io
import tarfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from checks.overlay import OverlaySource, read_case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rigwise.engine import judge
from rigwise.errors import BadInput, CannotWrite
from rigwise.probes.rig import read_rig
from rigwise.recording import MAX_ARCHIVE_BYTES, Request, record_machine
from rigwise.records.evidence import Evidence, Status
from rigwise.records.finding import CheckReport
from rigwise.records.recording import RecordReport
from rigwise.report.json_text import check_json
from rigwise.report.record_text import preview_text
from rigwise.sources.answers import (
    command_answer,
    command_key,
    file_answer,
    kernel_log_answer,
    nvml_absence,
    program_output_answer,
)
from rigwise.sources.recorded import RecordedSource
from rigwise.sources.source import Source

TESTS = Path(__file__).parents[1]
SCENARIOS = sorted(folder.name for folder in (TESTS / "recordings").iterdir() if folder.is_dir())
SOME_FAULTS = [
    path for path in sorted((TESTS / "cases").glob("*/problem_*.toml"))[::5] if "timed_out" not in path.read_text()
]
"""A driver that hangs answers nothing any more; an overlay lets it answer the next question."""
NOW = datetime(2026, 11, 30, 14, 15, tzinfo=UTC)


def recorded(source: Source, place: Path, **options: Any) -> RecordReport:
    request = Request(place=place, as_folder=not place.name.endswith(".tar.gz"), at=NOW, **options)
    return record_machine(source, request, preview_text, check_json)


def check_of(source: Source) -> CheckReport:
    return judge(read_rig(source, deep=True))


def outline(report: CheckReport) -> list[tuple[object, ...]]:
    """What a report says, without the words that masking changes."""
    return [
        (one.check, one.short_target, one.verdict, one.severity, one.absence, one.symptom_of) for one in report.findings
    ]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_recording_gives_equal_findings(scenario: str, recording: Callable[[str], Path], tmp_path: Path) -> None:
    machine = check_of(RecordedSource(recording(scenario)))
    recorded(RecordedSource(recording(scenario)), tmp_path / "unmasked", masked=False)
    recorded(RecordedSource(recording(scenario)), tmp_path / "masked")
    assert check_of(RecordedSource(tmp_path / "unmasked")) == machine
    masked = check_of(RecordedSource(tmp_path / "masked"))
    assert outline(masked) == outline(machine)
    assert masked.decision.action is machine.decision.action


@pytest.mark.parametrize(
    "case", sorted((TESTS / "cases").glob("*/problem_*.toml"))[::5], ids=lambda path: path.parent.name
)
def test_a_recording_of_a_fault_shows_the_fault(case: Path, tmp_path: Path) -> None:
    recorded(OverlaySource(read_case(case)), tmp_path / "masked", deep=True)
    machine = check_of(OverlaySource(read_case(case)))
    assert outline(check_of(RecordedSource(tmp_path / "masked"))) == outline(machine)


def test_what_is_in_it_is_told(recording: Callable[[str], Path], tmp_path: Path) -> None:
    report = recorded(RecordedSource(recording("one_of_two_lost")), tmp_path / "out")
    lying = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {file.path for file in report.files} == lying - {"PREVIEW.txt", "manifest.json", "report.json"}
    preview = (tmp_path / "out/PREVIEW.txt").read_text()
    assert all(file.path in preview for file in report.files)
    assert "STOP: GPU 1: The GPU fell off the bus" in preview
    assert report.replaced["UUIDs"] > 0
    assert "UUIDs" in preview


def test_an_archive_names_nobody(recording: Callable[[str], Path], tmp_path: Path) -> None:
    report = recorded(RecordedSource(recording("no_gpu")), tmp_path / "mine.tar.gz")
    assert report.size_bytes == (tmp_path / "mine.tar.gz").stat().st_size
    with tarfile.open(tmp_path / "mine.tar.gz") as archive:
        members = archive.getmembers()
    assert {member.name.partition("/")[0] for member in members} == {"mine"}
    assert {(member.uname, member.gname, member.uid, member.mtime) for member in members} == {
        ("", "", 0, int(NOW.timestamp()))
    }
    assert (tmp_path / "mine.tar.gz").read_bytes()[3] & 8 == 0, "the header of gzip names no file"


class LongWinded(OverlaySource):
    """A machine whose kernel log and package list are megabytes long, and do not compress well."""

    def kernel_log(self) -> Evidence:
        noise = [f"[{n}.000000] usb 1-1: {hash((n, 'noise')):x} {hash((n, 'more')):x}" for n in range(60_000)]
        noise[10] = "[   10.000000] NVRM: Xid (PCI:0000:41:00): 79, pid=18422, GPU has fallen off the bus."
        return kernel_log_answer(command_answer("dmesg", Status.OK, "\n".join(noise)))

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        if command_key(argv, key) == "dpkg -l":
            text = "\n".join(f"ii  package-{n} {hash((n, 'v')):x}{hash((n, 'w')):x}" for n in range(100_000))
            return command_answer("dpkg -l", Status.OK, text)
        return super().command(argv, key=key, timeout_seconds=timeout_seconds)


def test_a_recording_is_small_and_keeps_what_matters(tmp_path: Path) -> None:
    source = LongWinded(read_case(TESTS / "cases/gpu_lost/problem_only_log.toml"))
    report = recorded(source, tmp_path / "small.tar.gz")
    assert report.size_bytes < MAX_ARCHIVE_BYTES
    assert {file.path for file in report.files if file.trimmed} >= {"evidence/kernel.log"}
    with tarfile.open(tmp_path / "small.tar.gz") as archive:
        archive.extractall(tmp_path / "read", filter="data")
    log = (tmp_path / "read/small/evidence/kernel.log").read_text()
    assert "Xid (PCI:0000:41:00): 79" in log
    assert "usb 1-1" in log.splitlines()[-1]
    assert "lines here)" in log
    assert outline(check_of(RecordedSource(tmp_path / "read/small"))) == outline(check_of(source))


def test_nothing_is_overwritten(recording: Callable[[str], Path], tmp_path: Path) -> None:
    from rigwise.sources.archiving import refuse_existing

    (tmp_path / "full").mkdir()
    (tmp_path / "full/precious").touch()
    (tmp_path / "empty").mkdir()
    refuse_existing(tmp_path / "empty")
    for taken in ("full", "full/precious", "no-such-folder/out.tar.gz"):
        with pytest.raises(BadInput):
            refuse_existing(tmp_path / taken)


def test_a_place_that_cannot_be_written(recording: Callable[[str], Path]) -> None:
    with pytest.raises(CannotWrite):
        recorded(RecordedSource(recording("no_gpu")), Path("/proc/rigwise.tar.gz"))


NAMES = st.from_regex(r"[a-z][a-z]{4,9}[0-9]{2}", fullmatch=True)
HEX = st.text("0123456789abcdef", min_size=12, max_size=12).filter(lambda digits: digits.strip("0f") != "")
TOKEN = st.text("ABCDEFGHJKMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789", min_size=20, max_size=40)
CONTEXTS: dict[str, str] = {
    "token": 'export HF_TOKEN={}|WANDB_API_KEY: {}|"password": "{}"|Authorization: Bearer {}|--api-key {}'
    "|https://ada:{}@pypi.example.org/simple|hf_{}|ghp_{}|AKIA{}|sk-proj-{}|eyJhbGciOi.{}.sig|nvapi-{}"
    "|-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----|ssh-ed25519 AAAA{} ada@x|SSID: {} 5G",
    "user": "/home/{}/train.py|/mnt/c/Users/{}/x|C:\\Users\\{}\\x|/media/{}/disk|USER={}"
    "|{}@box77:~/x$ nvidia-smi|Username: {}"
    "|{}:x:1001:1001:Some Body,,,:/home/ada:/bin/bash",
    "host": "Nov 30 13:02:44 {} kernel: NVRM: loading|2026-11-30T13:02:44+0100 {} kernel: x|ada@{}:~$ dmesg"
    '|Linux {} 6.8.0-60-generic #63-Ubuntu SMP| Name: {}|"Hostname": "{}"|HOSTNAME={}'
    "|systemd[1]: Hostname set to <{}>.",
    "mac": "link/ether {} brd ff:ff:ff:ff:ff:ff|HWaddr {}",
    "serial": "Serial Number : {}|<serial>{}</serial>|ID_SERIAL_SHORT={}|S/N: {}"
    "|/dev/disk/by-id/nvme-Samsung_SSD_980_{}",
    "uuid": "GPU UUID : GPU-{}|root=UUID={} ro|CUDA_VISIBLE_DEVICES=MIG-{}",
    "ip4": "inet {}/24 scope global|connect to {}:443 failed|src={} dst",
    "ip6": "inet6 {}/64 scope link",
}


@st.composite
def secrets(draw: st.DrawFn) -> dict[str, str]:
    """One secret of each kind."""
    digits = draw(HEX)
    return {
        "token": draw(TOKEN),
        "user": draw(NAMES),
        "host": draw(NAMES),
        "mac": ":".join(digits[i : i + 2] for i in range(0, 12, 2)),
        "serial": "S64A" + draw(st.text("0123456789", min_size=8, max_size=10)),
        "uuid": f"{digits[:8]}-{digits[8:]}-4be8-9a16-{digits}",
        "ip4": "10." + ".".join(str(draw(st.integers(1, 254))) for _ in range(3)),
        "ip6": f"fe80::{digits[:4]}:ff:fe{digits[4:6]}:{digits[6:10]}",
    }


class Indiscreet:
    """A source whose every answer holds every secret."""

    name = "indiscreet"

    def __init__(self, planted: dict[str, str]) -> None:
        self._text = "\n".join(
            context.format(secret) for kind, secret in planted.items() for context in CONTEXTS[kind].split("|")
        )

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        return nvml_absence(name, gpu, Status.NOT_RECORDED)

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        return command_answer(command_key(argv, key), Status.OK, self._text, 0)

    def file(self, path: str) -> Evidence:
        return file_answer(path, Status.OK, self._text)

    def kernel_log(self) -> Evidence:
        return kernel_log_answer(command_answer("dmesg", Status.OK, self._text))

    def program_output(self) -> Evidence:
        return program_output_answer(Status.OK, self._text)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(planted=secrets())
def test_no_planted_secret_survives(planted: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "planted.tar.gz"
    place.unlink(missing_ok=True)
    recorded(Indiscreet(planted), place)
    with tarfile.open(place) as archive:
        for member in archive.getmembers():
            held = archive.extractfile(member) or io.BytesIO()
            for where in (member.name, held.read().decode()):
                for kind, secret in planted.items():
                    assert secret.lower() not in where.lower(), (kind, member.name, near(where.lower(), secret.lower()))


def near(text: str, secret: str) -> str:
    """The secret with what stands around it, for the message of a failed test."""
    at = text.index(secret)
    return text[max(0, at - 60) : at + 60]
