"""Evidence that means harm, through the real command: bombs, ways out of an archive, hangs, escapes."""

import gzip
import io
import os
import resource
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

Run = Callable[..., Any]
XID = b"[  12.000001] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n"


def archive(path: Path, *members: tuple[str, bytes], link: tuple[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
        if link is not None:
            entry = tarfile.TarInfo(link[0])
            entry.type, entry.linkname = tarfile.SYMTYPE, link[1]
            made.addfile(entry)
    return path


def bomb(num_mebibytes: int) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9) as opened:
        for _ in range(num_mebibytes):
            opened.write(b"\0" * 2**20)
    return packed.getvalue()


def at_most_two_gibibytes() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))


@pytest.mark.parametrize("inside", ["", "archive"])
def test_a_bomb_is_refused_or_cut_short(inside: str, rigwise: Run, tmp_path: Path) -> None:
    place = tmp_path / "bomb.gz"
    place.write_bytes(bomb(2048))
    if inside:
        place = archive(tmp_path / "bomb.tar.gz", ("a.log.gz", place.read_bytes()), ("dmesg.txt", XID))
    began = time.monotonic()
    done = rigwise("check", "--from", place, "--json", preexec_fn=at_most_two_gibibytes)
    assert done.returncode in (1, 2, 3)
    assert "Traceback" not in done.stderr
    assert time.monotonic() - began < 30


def test_an_archive_writes_nowhere(rigwise: Run, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    hostile = archive(
        tmp_path / "inner/hostile.tar.gz",
        ("../escaped.txt", XID),
        ("/tmp/rigwise-escaped.txt", XID),
        ("evidence/nvml.tsv", b"-\tInit\t0\t\n"),
        ("evidence/files/../../../../escaped2.txt", XID),
        link=("evidence/files/etc", "/etc"),
    )
    before = {path for path in tmp_path.rglob("*")}
    done = rigwise("check", "--from", hostile, "--json", cwd=tmp_path / "inner")
    assert "Traceback" not in done.stderr
    made = {path for path in tmp_path.rglob("*")} - before
    assert not [path for path in made if "escaped" in path.name]
    assert not Path("/tmp/rigwise-escaped.txt").exists()
    assert "root:x:0" not in done.stdout


def test_a_link_in_an_archive_reads_nothing_of_this_machine(rigwise: Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_bytes(b"[  12.000001] NVRM: Xid (PCI:0000:42:00): 48, pid=77777, the secret of this machine\n")
    hostile = archive(tmp_path / "links.tar.gz", ("dmesg.txt", XID), link=("kern.log", str(secret)))
    done = rigwise("check", "--from", hostile, "--all")
    assert "the secret" not in done.stdout + done.stderr


def test_a_hanging_command_is_a_finding_and_leaves_nothing(rigwise: Run) -> None:
    done = rigwise("check", machine="hung_driver")
    assert "probe_hung" in done.stdout
    left = [
        one for one in psutil.process_iter(["cmdline", "status"]) if "recorded_command.py" in str(one.info["cmdline"])
    ]
    assert not [one for one in left if one.ppid() == 1 and one.info["status"] != psutil.STATUS_ZOMBIE]


def test_a_pipe_that_says_nothing_does_not_hang(rigwise: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = rigwise("check", "--from", tmp_path / "pipe")
    assert done.returncode == 2
    assert "neither a file nor a folder" in done.stderr


def test_a_folder_with_a_pipe_in_it_does_not_hang(rigwise: Run, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "dmesg.txt").write_bytes(XID)
    assert "gpu_lost" in rigwise("check", "--from", folder).stdout


@pytest.mark.parametrize("name", ["binary", "elf", "random"])
def test_what_is_no_text_is_refused_in_words(name: str, rigwise: Run, tmp_path: Path) -> None:
    content = {"binary": bytes(range(256)) * 100, "elf": b"\x7fELF" + b"\0" * 1000, "random": os.urandom(5000)}[name]
    (tmp_path / name).write_bytes(content)
    done = rigwise("check", "--from", tmp_path / name)
    assert done.returncode in (2, 3)
    assert "Traceback" not in done.stderr
