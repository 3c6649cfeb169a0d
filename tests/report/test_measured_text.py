"""What `--deep` measured, as one line."""

from typing import Any

from checks.overlay import Case, OverlaySource

from rigwise.probes.rig import read_rig
from rigwise.records.finding import Verdict
from rigwise.report.measured_text import measured_line

DISK = """{"folder_type": "ext4", "device": "/dev/nvme0n1p2", "direct": %s, "tool": "rigwise",
"sequential_read_bytes_per_second": 3120000000.0, "random_reads_per_second": 12400.0}"""
COPIES = """{"framework": "torch 2.14.1+cu130", "gpus": [
{"gpu": 0, "kernel_ok": true, "pinned_to_gpu": 25.13, "pinned_from_gpu": 24.9}, {"gpu": 1, "skipped": "in use"}]}"""


def line(**answers: Any) -> str:
    commands = {key.replace("_", "-"): text.replace("\n", "") for key, text in answers.items()}
    case = Case(why="", expect=Verdict.OK, recording="healthy_rtx4090", commands=commands)
    return measured_line(read_rig(OverlaySource(case), deep=True))


def test_disk_and_copies() -> None:
    assert line(disk_probe=DISK % "true", cuda_probe=COPIES) == (
        "measured: disk 3.12 GB/s in sequence, 12,400 random reads/s; GPU 0 25.1 GB/s to it, 24.9 GB/s from it"
    )


def test_speeds_of_the_cache_are_called_so() -> None:
    assert line(disk_probe=DISK % "false") == (
        "measured: disk 3.12 GB/s in sequence, 12,400 random reads/s, from the cache"
    )


def test_nothing_is_said_where_nothing_was_measured() -> None:
    assert line() == ""
    assert line(disk_probe='{"folder_type": "tmpfs", "refused": "in memory"}', cuda_probe='{"error": "no GPU"}') == ""
