"""What `--from PATH|-` takes, in the shapes people send it, and what it refuses."""

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rigwise.errors import BadInput
from rigwise.records.evidence import Status
from rigwise.sources import opening
from rigwise.sources.opening import open_source
from rigwise.sources.recorded import RecordedSource
from rigwise.sources.unpacking import MAX_PART_BYTES

XML = '<?xml version="1.0" ?>\n<nvidia_smi_log>\n<gpu id="00000000:41:00.0"/>\n</nvidia_smi_log>\n'
LOG = (
    "[ 7211.402215] pcieport 0000:40:01.1: link is down\n"
    "[ 7211.604409] NVRM: Xid (PCI:0000:41:00): 79, pid=18422, name=python, GPU has fallen off the bus.\n"
)
SMI = ["nvidia-smi", "-q", "-x"]


def opened(content: bytes, folder: Path) -> opening.Source:
    (folder / "sent").write_bytes(content)
    return open_source(str(folder / "sent"))


def xml_of(content: bytes, folder: Path) -> str:
    return opened(content, folder).command(SMI).text


@pytest.mark.parametrize(
    "content",
    [
        XML.encode(),
        XML.encode("utf-8-sig"),
        XML.encode("utf-16"),
        XML.encode("utf-16-le"),
        XML.replace("\n", "\r\n").encode(),
        f"user@rig:~$ nvidia-smi -q -x\n{XML}user@rig:~$ ".encode(),
        f"It is slow, see\n```xml\n{XML}```\nthanks".encode(),
        "".join(f"> {line}\n" for line in XML.splitlines()).encode(),
        gzip.compress(XML.encode()),
    ],
    ids=["utf-8", "bom", "utf-16", "utf-16 no bom", "crlf", "prompt", "markdown", "quoted", "gzip"],
)
def test_smi_xml_however_it_was_sent(content: bytes, tmp_path: Path) -> None:
    assert xml_of(content, tmp_path).split() == XML.split()


def test_a_truncated_xml_is_taken_for_what_it_is(tmp_path: Path) -> None:
    assert xml_of(XML[:60].encode(), tmp_path) == XML[:60]


@pytest.mark.parametrize(
    "name", ["dmesg_xid119_gsp.log", "dmesg_oom_xid13_43.log", "dmesg_nccl_segfault.log", "kmsg_benign.log"]
)
def test_kernel_logs_as_the_tools_write_them(name: str, shared: Path) -> None:
    answer = open_source(str(shared / "evidence" / name)).kernel_log()
    assert answer.status is Status.OK
    assert answer.text.splitlines() == (shared / "evidence" / name).read_text().splitlines()


def test_every_captured_xml_is_recognised(shared: Path) -> None:
    captures = sorted((shared / "evidence").glob("smi_*.xml"))
    assert captures
    for capture in captures:
        assert open_source(str(capture)).command(SMI).status is Status.OK, capture.name


@pytest.mark.parametrize(
    "line",
    [
        "[    1.000000] usb 1-1: new device",
        "[Sun Feb 23 16:24:18 2025] usb 1-1: new device",
        "2026-11-30T13:02:44,283302+00:00 usb 1-1: new device",
        "2026-11-30T13:02:44+0000 rig kernel: usb 1-1: new device",
        "Nov 30 13:02:44 rig kernel: usb 1-1: new device",
        "kern  :warn  : [ 12.0] usb 1-1: new device",
        "6,3964,206764307,-;usb 1-1: new device",
    ],
)
def test_kernel_log_lines_without_nvidia(line: str, tmp_path: Path) -> None:
    assert opened(line.encode(), tmp_path).kernel_log().text == line


def test_an_issue_with_both_in_it() -> None:
    issue = f"Training dies.\n```\n{XML}```\nand dmesg:\n```\n{LOG}```\nWhat now?"
    source = open_source("-", io.BytesIO(issue.encode()))
    assert source.name == "standard input"
    assert source.command(SMI).status is Status.OK
    assert source.kernel_log().text == LOG.rstrip("\n")
    assert source.nvml("Init").status is Status.NOT_RECORDED
    assert source.file("/proc/meminfo").status is Status.NOT_RECORDED


def test_folders_of_all_kinds(recording: Callable[[str], Path], tmp_path: Path) -> None:
    scenario = recording("healthy_rtx4090")
    assert isinstance(open_source(str(scenario)), RecordedSource)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/evidence").symlink_to(scenario)
    assert open_source(str(tmp_path / "run")).nvml("DeviceGetName", 0).text == "NVIDIA GeForce RTX 4090"
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed/a.xml").write_text(XML)
    (tmp_path / "mixed/b.log").write_text(LOG)
    (tmp_path / "mixed/photo.jpg").write_bytes(b"\xff\xd8\xff\x00\x00")
    mixed = open_source(str(tmp_path / "mixed"))
    assert (mixed.command(SMI).status, mixed.kernel_log().status) == (Status.OK, Status.OK)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\x7fELF\x02\x01\x00\x00", "binary"),
        (bytes(range(256)) * 4, "binary"),
        (gzip.compress(XML.encode())[:-20], "damaged"),
        (b"\x1f\x8bnonsense", "damaged"),
        (gzip.compress(b""), "empty"),
    ],
)
def test_files_that_are_refused(content: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        opened(content, tmp_path)
    assert str(tmp_path / "sent") in refused.value.what
    assert why in refused.value.why
    assert "nvidia-smi" in refused.value.next_step


@pytest.mark.parametrize("text", ["hello\nworld", "RuntimeError: CUDA error: out of memory\n"])
def test_a_text_that_is_nothing_else_is_what_a_program_printed(text: str, tmp_path: Path) -> None:
    assert opened(text.encode(), tmp_path).program_output().text == text.strip()
    assert opened(gzip.compress(text.encode()), tmp_path).program_output().text == text.strip()


def test_too_much_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        opened(b"x\n" * (MAX_PART_BYTES // 2 + 1), tmp_path)
    assert "32 MiB" in refused.value.why


def test_several_inputs_tell_of_one_machine(recording: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "error.txt").write_text("RuntimeError: No CUDA GPUs are available\n")
    (tmp_path / "dmesg").write_text(LOG)
    names = [str(recording("healthy_rtx4090")), str(tmp_path / "error.txt"), str(tmp_path / "dmesg")]
    source = open_source(names)
    assert source.name == ", ".join(names)
    assert source.nvml("DeviceGetName", 0).text == "NVIDIA GeForce RTX 4090"
    assert source.program_output().text == "RuntimeError: No CUDA GPUs are available"
    assert LOG.splitlines()[1] in source.kernel_log().text
    assert source.command(["no-such-command"]).status is Status.NOT_RECORDED


def test_two_outputs_of_one_command_come_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(XML)
    (tmp_path / "b.xml").write_text(XML)
    source = open_source([str(tmp_path / "a.xml"), str(tmp_path / "b.xml")])
    assert source.command(SMI).text.count("<nvidia_smi_log>") == 2


def test_files_of_a_folder_are_told_by_content_and_where_that_says_too_little_by_path(tmp_path: Path) -> None:
    (tmp_path / "proc/pressure").mkdir(parents=True)
    (tmp_path / "proc/pressure/io").write_text("some avg10=9.00 avg60=0.34 avg300=0.10 total=1\n")
    (tmp_path / "notes.md").write_text("MemTotal:        3742148 kB\nMemFree:          225472 kB\n")
    source = open_source(str(tmp_path))
    assert source.file("/proc/pressure/io").text.startswith("some avg10=9.00")
    assert source.file("/proc/meminfo").text.startswith("MemTotal")


def test_places_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    reasons = {"missing": "no such", "empty": "empty", "pipe": "neither", "loop": "symbolic links"}
    for name, why in reasons.items():
        with pytest.raises(BadInput) as refused:
            open_source(str(tmp_path / name))
        assert why in refused.value.why


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("nvml.tsv", "zero\tInit\t0\t"),
        ("nvml.tsv", "-\tInit\tperhaps\t"),
        ("commands/index.tsv", "nvidia-smi\tfine\t0\t0.1\t"),
        ("commands/index.tsv", "nvidia-smi\tok\tnought\t0.1\t"),
        ("files.tsv", "/proc/x\tgone\t"),
    ],
)
def test_damaged_tables_are_refused(table: str, row: str, tmp_path: Path) -> None:
    (tmp_path / table).parent.mkdir(exist_ok=True)
    (tmp_path / table).write_text(row + "\n")
    with pytest.raises(BadInput) as refused:
        open_source(str(tmp_path))
    assert "damaged" in refused.value.why


def test_damaged_tables_of_a_recording_inside_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "unpacked/evidence").mkdir(parents=True)
    (tmp_path / "unpacked/evidence/nvml.tsv").write_text("-\tInit\tperhaps\t\n")
    with pytest.raises(BadInput) as refused:
        open_source(str(tmp_path))
    assert "damaged" in refused.value.why


def test_a_name_that_no_file_can_have_was_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    assert open_source(str(tmp_path)).file("/" + "x" * 300).status is Status.NOT_RECORDED


def test_a_recording_cannot_reach_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "sent/commands").mkdir(parents=True)
    (tmp_path / "sent/commands/index.tsv").write_text("nvidia-smi\tok\t0\t0.1\t../../secret\n")
    (tmp_path / "sent/files").mkdir()
    source = open_source(str(tmp_path / "sent"))
    assert source.command(["nvidia-smi"]).text == ""
    assert source.file("/../../secret").status is Status.NOT_RECORDED
