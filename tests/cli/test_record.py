"""`rigwise record` on this machine and on simulated ones; what it makes is read back by `check` and `diff`."""

import getpass
import json
import shutil
import socket
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli.one_clear_error import assert_one_clear_error

Run = Callable[..., Any]
HOST = "rig-of-grace"


def contents(archive: Path) -> Iterator[tuple[str, str]]:
    """Name and text of everything in the archive."""
    with tarfile.open(archive) as opened:
        for member in opened.getmembers():
            file = opened.extractfile(member)
            yield member.name, file.read().decode() if file else ""


def identities() -> set[str]:
    """What identifies this machine and its user: names, addresses, ids."""
    found = {socket.gethostname(), socket.gethostname().partition(".")[0], getpass.getuser()}
    for addresses in psutil.net_if_addrs().values():
        found |= {address.address.partition("%")[0].lower() for address in addresses}
    for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id", "/sys/class/dmi/id/product_serial"):
        if Path(path).is_file():
            found.add(Path(path).read_text().strip())
    ordinary = {"root", "localhost", "127.0.0.1", "::1", "00:00:00:00:00:00", ""}
    return {identity for identity in found - ordinary if len(identity) > 2}


def test_a_recording_of_this_machine_names_nobody(rigwise: Run, tmp_path: Path) -> None:
    done = rigwise("record", "mine.tar.gz", inside={"RIGWISE_ROOT": "/", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})
    assert done.returncode == 0, done.stderr
    secrets = identities()
    assert secrets, "this machine has an address at least"
    for name, text in contents(tmp_path / "mine.tar.gz"):
        assert not [secret for secret in secrets if secret in name.lower() or secret in text.lower()], name


def test_a_host_name_is_hidden_wherever_it_stands(tmp_path: Path) -> None:
    script = f"hostname {HOST} && exec {sys.executable} -m rigwise record out.tar.gz"
    apart = ["unshare", "--uts", "sh", "-c", script]
    if shutil.which("unshare") is None or subprocess.run([*apart[:2], "true"], capture_output=True).returncode:
        pytest.skip("another host name is not permitted here")
    done = subprocess.run(apart, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = dict(contents(tmp_path / "out.tar.gz"))
    assert len(found) > 5
    assert not [name for name, text in found.items() if HOST in name + text]


def test_it_says_what_it_holds_and_what_to_do_next(rigwise: Run, tmp_path: Path) -> None:
    done = rigwise("record", "out.tar.gz", machine="one_of_two_lost")
    assert done.returncode == 0
    assert done.stdout.startswith("out.tar.gz")
    assert "STOP" in done.stdout
    assert done.stdout.splitlines()[-1] == "  next  rigwise check --from out.tar.gz"
    preview = dict(contents(tmp_path / "out.tar.gz"))["out/PREVIEW.txt"]
    assert "evidence/kernel.log" in preview


@pytest.mark.parametrize("place", ["out.tar.gz", "out/"])
def test_what_was_recorded_live_is_checked_alike(place: str, rigwise: Run, tmp_path: Path) -> None:
    live = json.loads(rigwise("check", "--json", machine="one_of_two_lost").stdout)
    made = json.loads(rigwise("record", place, "--json", machine="one_of_two_lost").stdout)
    assert (made["schema"], made["path"], made["masked"]) == ("rigwise.record/1", place.rstrip("/"), True)
    again = json.loads(rigwise("check", "--json", "--from", place).stdout)
    assert [outline(one) for one in again["findings"]] == [outline(one) for one in live["findings"]]
    kept = tmp_path / "out/report.json" if place == "out/" else None
    report = kept.read_text() if kept else dict(contents(tmp_path / place))["out/report.json"]
    assert json.loads(report) == again


def outline(finding: dict[str, Any]) -> tuple[object, ...]:
    return tuple(finding[key] for key in ("check", "verdict", "severity", "absence", "symptom_of"))


def test_unmasked_on_request(rigwise: Run, tmp_path: Path, recording: Callable[[str], Path]) -> None:
    rigwise("record", "out/", "--unmasked", machine="healthy_rtx4090")
    uuid = "GPU-4f1c2a90-7d53-4be8-9a16-0c8e5b7d3f21"
    assert uuid in (recording("healthy_rtx4090") / "nvml.tsv").read_text()
    assert uuid in (tmp_path / "out/evidence/nvml.tsv").read_text()
    assert "Nothing was masked" in (tmp_path / "out/PREVIEW.txt").read_text()


def test_nothing_is_overwritten(rigwise: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.tar.gz").write_text("precious")
    assert_one_clear_error(rigwise("record", "mine.tar.gz"), "already in use")
    assert (tmp_path / "mine.tar.gz").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir() if "mine" in path.name] == ["mine.tar.gz"]


def test_a_folder_that_is_not_there(rigwise: Run) -> None:
    assert_one_clear_error(rigwise("record", "none/out.tar.gz"), "mkdir -p none")


def test_without_a_name_it_takes_the_time(rigwise: Run, tmp_path: Path) -> None:
    assert rigwise("record").returncode == 0
    (made,) = tmp_path.glob("rigwise-record-*.tar.gz")
    assert made.stat().st_size < 5_000_000
