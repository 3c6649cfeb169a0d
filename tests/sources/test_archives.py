"""Archives that people send, and those that nobody should open."""

import bz2
import gc
import gzip
import io
import lzma
import resource
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from rigwise.errors import BadInput
from rigwise.records.evidence import Status
from rigwise.sources.opening import open_source
from rigwise.sources.recorded import RecordedSource
from rigwise.sources.source import Source

LOG = b"[ 7211.604409] NVRM: Xid (PCI:0000:41:00): 79, pid=18422, name=python, GPU has fallen off the bus.\n"
MEMINFO = b"MemTotal:        3742148 kB\nMemFree:          225472 kB\n"


def tar(*members: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return packed.getvalue()


def opened(content: bytes, folder: Path) -> Source:
    (folder / "sent").write_bytes(content)
    return open_source(str(folder / "sent"))


BOTH = (("rig/dmesg.txt", LOG), ("rig/proc/meminfo", MEMINFO))


@pytest.mark.parametrize(
    "content",
    [
        tar(*BOTH),
        gzip.compress(tar(*BOTH)),
        bz2.compress(tar(*BOTH)),
        lzma.compress(tar(*BOTH)),
        zipped(*BOTH),
        gzip.compress(tar(("rig/dmesg.txt.gz", gzip.compress(LOG)), BOTH[1])),
        zipped(("inner.tar.gz", gzip.compress(tar(*BOTH)))),
        gzip.compress(gzip.compress(LOG + b"\n" + MEMINFO)),
    ],
    ids=["tar", "tar.gz", "tar.bz2", "tar.xz", "zip", "gz in tar", "tar in zip", "gz in gz"],
)
def test_texts_in_archives(content: bytes, tmp_path: Path) -> None:
    source = opened(content, tmp_path)
    assert source.kernel_log().text == LOG.decode().strip()
    assert source.file("/proc/meminfo").text == MEMINFO.decode().strip()


def packed_recording(folder: Path, top: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder, top or ".")
    return packed.getvalue()


@pytest.mark.parametrize("top", ["rigwise-2026-11-30/evidence", "evidence", "rig", ""])
def test_a_recording_in_an_archive_answers_as_its_folder_does(
    top: str, recording: Callable[[str], Path], tmp_path: Path
) -> None:
    source = opened(packed_recording(recording("healthy_rtx4090"), top), tmp_path)
    assert isinstance(source, RecordedSource)
    assert source.name == str(tmp_path / "sent")
    folder = RecordedSource(recording("healthy_rtx4090"))
    for ask in (lambda s: s.nvml("DeviceGetName", 0), lambda s: s.kernel_log(), lambda s: s.file("/proc/modules")):
        assert ask(source) == ask(folder)


def test_the_unpacked_recording_is_removed_with_its_source(
    recording: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = opened(packed_recording(recording("healthy_rtx4090"), "evidence"), tmp_path)
    assert list(tmp_path.glob("rigwise-*"))
    del source
    gc.collect()
    assert not list(tmp_path.glob("rigwise-*"))


def test_a_damaged_recording_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(BadInput, match="cannot read"):
        opened(tar(("evidence/nvml.tsv", b"zero\tInit\t0\t\n")), tmp_path)
    assert not list(tmp_path.glob("rigwise-*"))


def hostile_tar(*members: tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        good = tarfile.TarInfo("evidence/nvml.tsv")
        archive.addfile(good)
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return packed.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


@pytest.mark.parametrize(
    "bad",
    [
        member("../stolen", size=1),
        member("evidence/../../stolen", size=1),
        member("/tmp/rigwise-stolen", size=1),
        member("evidence/files/etc", tarfile.SYMTYPE, "/etc"),
        member("evidence/kernel.log", tarfile.SYMTYPE, "/etc/passwd"),
        member("evidence/kernel.log", tarfile.LNKTYPE, "/etc/passwd"),
        member("evidence/files/dev/zero", tarfile.CHRTYPE),
        member("evidence/files/pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda info: f"{info.name} {info.type!r}",
)
def test_names_links_and_devices_that_lead_out_are_left_out(
    bad: tarfile.TarInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(inside))
    source = opened(hostile_tar(bad), tmp_path)
    written = [path for path in inside.rglob("*") if not path.is_dir()]
    assert [path.name for path in written] == ["nvml.tsv"]
    assert not (tmp_path / "stolen").exists()
    assert not Path("/tmp/rigwise-stolen").exists()
    assert source.kernel_log().status is Status.NOT_RECORDED


def zip_of_zeros() -> bytes:
    return zipped(("zeros", bytes(2**28)))


def many(names: Iterable[str]) -> bytes:
    return tar(*((name, b"x") for name in names))


@pytest.mark.parametrize(
    "make",
    [
        lambda: gzip.compress(bytes(2**28), 1),
        lambda: gzip.compress(gzip.compress(bytes(2**28), 1)),
        lambda: bz2.compress(bytes(2**27)),
        lambda: lzma.compress(bytes(2**27), preset=0),
        lambda: gzip.compress(tar(("zeros", bytes(2**27))), 1),
        zip_of_zeros,
        lambda: many(f"{n}" for n in range(20_001)),
    ],
    ids=["gzip", "gzip in gzip", "bzip2", "xz", "tar.gz", "zip", "members"],
)
def test_a_bomb_ends_in_one_clear_error_soon(make: Callable[[], bytes], tmp_path: Path) -> None:
    content = make()
    before_seconds = time.process_time()
    with pytest.raises(BadInput) as refused:
        opened(content, tmp_path)
    assert time.process_time() - before_seconds < 5
    assert "bomb" in refused.value.why or "20000 files" in refused.value.why


def test_a_bomb_does_not_fill_the_memory(tmp_path: Path) -> None:
    content = gzip.compress(bytes(2**29), 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + 150 * 2**20, hard))
    try:
        with pytest.raises(BadInput, match="cannot read"):
            opened(content, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@pytest.mark.parametrize("content", [zipped(*BOTH)[:-30], tar(*BOTH)[:700], gzip.compress(tar(*BOTH))[:60]])
def test_a_damaged_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        opened(content, tmp_path)
    assert "damaged" in refused.value.why
