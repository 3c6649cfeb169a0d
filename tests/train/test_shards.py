"""WebDataset shards as DATA: the same pictures and batches as from folders, and hostile archives do no harm."""

import contextlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from train import bad_pictures as odd

from rigwise.errors import BadInput
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.loader import PictureStream
from rigwise.train.pictures.picture_bytes import read_inside
from rigwise.train.pictures.picture_ledger import changes, picture_lines, read_picture_lines
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.pictures.shards.tar_index import MAX_NAME_BYTES, BadShardError, members

CLASSES = ("bags", "shoes")


def add(archive: tarfile.TarFile, name: str, content: bytes, **header: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in header.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(content))


def sample(number: int) -> bytes:
    return odd.encoded(odd.photo(number, 50 + number, 60), "JPEG")


def write_shard(path: Path, numbers: range, label: Callable[[int], tuple[str, bytes]] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for number in numbers:
            add(archive, f"{number:04}.jpg", sample(number))
            extension, content = label(number) if label else ("cls", CLASSES[number % 2].encode())
            add(archive, f"{number:04}.{extension}", content)
    return path


def batches(pictures: PictureSet, num_threads: int, start: int = 0) -> list[torch.Tensor]:
    stream = PictureStream(pictures.train, pictures.root, image_size=32, seed=1, batch_size=4, num_threads=num_threads)
    return [images for images, _ in stream.train_batches(8 - start, start_step=start)]


def test_shards_give_pictures_classes_and_splits(tmp_path: Path) -> None:
    for name, numbers in (("train-0", range(10)), ("train-1", range(10, 20)), ("val-0", range(20, 26))):
        write_shard(tmp_path / f"{name}.tar", numbers)
    pictures = read_pictures(tmp_path, seed=0)
    assert pictures.classes == CLASSES
    assert [len(split) for split in (pictures.train, pictures.val, pictures.test)] == [20, 6, 0]
    assert pictures.train[3].path == "train-0.tar/0003.jpg"
    for picture in pictures.train:
        assert picture.label == int(picture.path[-8:-4]) % 2
        assert picture.inside is not None
        assert read_inside(tmp_path, picture.inside) == sample(int(picture.path[-8:-4]))


def test_split_folders_of_shards(tmp_path: Path) -> None:
    write_shard(tmp_path / "train" / "a.tar", range(10))
    write_shard(tmp_path / "validation" / "a.tar", range(10, 16))
    pictures = read_pictures(tmp_path, seed=0)
    assert (len(pictures.train), len(pictures.val)) == (10, 6)


def test_batches_resume_and_do_not_depend_on_threads(tmp_path: Path) -> None:
    write_shard(tmp_path / "0.tar", range(16))
    pictures = read_pictures(tmp_path, seed=0)
    whole = batches(pictures, 0)
    assert all(torch.equal(*pair) for pair in zip(whole, batches(pictures, 3), strict=True))
    assert all(torch.equal(*pair) for pair in zip(whole[5:], batches(pictures, 2, start=5), strict=True))
    assert not torch.equal(whole[0], whole[1])


def test_a_repeat_finds_the_same_pictures(tmp_path: Path) -> None:
    write_shard(tmp_path / "data" / "0.tar", range(16))
    pictures = read_pictures(tmp_path / "data", seed=0)
    (tmp_path / "pictures.tsv").write_text(picture_lines(pictures))
    ledger = read_picture_lines(tmp_path / "pictures.tsv")
    assert changes(read_pictures(tmp_path / "data", seed=0), ledger.pictures) == ()


LABELS: dict[str, Callable[[int], tuple[str, bytes]]] = {
    "cls number": lambda number: ("cls", str(number % 2 * 10 + 2).encode() + b"\n"),
    "json cls": lambda number: ("json", json.dumps({"cls": number % 2 * 10 + 2, "url": "x"}).encode()),
    "json label": lambda number: ("json", json.dumps({"label": str(number % 2 * 10 + 2)}).encode()),
    "json alone": lambda number: ("json", str(number % 2 * 10 + 2).encode()),
}


@pytest.mark.parametrize("kind", LABELS)
def test_numbered_classes_keep_their_order(tmp_path: Path, kind: str) -> None:
    write_shard(tmp_path / "0.tar", range(12), LABELS[kind])
    assert read_pictures(tmp_path, seed=0).classes == ("2", "12")


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_member_is_where_tarfile_finds_it(tmp_path: Path, form: int) -> None:
    names = ["a.jpg", "folder/" * 12 + "b.jpg", "é/ü.png", "x" * 90 + ".cls"]
    names += [] if form == tarfile.USTAR_FORMAT else ["long/" * 60 + "c.jpg"]
    with tarfile.open(tmp_path / "0.tar", "w", format=form) as archive:
        for length, name in enumerate(names):
            add(archive, name, b"q" * (length * 300), mtime=1.5)
    with tarfile.open(tmp_path / "0.tar") as archive:
        expected = [(one.name, one.offset_data, one.size) for one in archive]
    assert [(name, one.offset, one.num_bytes) for name, one in members(tmp_path, "0.tar")] == expected


def test_links_devices_and_paths_outside_touch_nothing(tmp_path: Path) -> None:
    odd.write(tmp_path / "secret.jpg", sample(99))
    (tmp_path / "data").mkdir()
    write_shard(tmp_path / "data" / "0.tar", range(8))
    with tarfile.open(tmp_path / "data" / "1.tar", "w") as archive:
        archive.fileobj.write(header(type=tarfile.LNKTYPE, size=10**6))  # claims content, as old archives do
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            add(archive, f"link{kind.decode()}.jpg", b"", type=kind, linkname=str(tmp_path / "secret.jpg"))
            add(archive, f"link{kind.decode()}.cls", b"bags")
        add(archive, "../../../outside.jpg", sample(50))
        add(archive, "../../../outside.cls", b"bags")
    pictures = read_pictures(tmp_path / "data", seed=0)
    every = [*pictures.train, *pictures.val, *pictures.test]
    assert len(every) == 9
    assert not any("link" in picture.path for picture in every)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "secret.jpg"]


def header(**changes: object) -> bytes:
    info = tarfile.TarInfo("a.jpg")
    for key, value in changes.items():
        setattr(info, key, value)
    return info.tobuf(tarfile.GNU_FORMAT)


HOSTILE = {
    "not a tar": b"\x89PNG" * 400,
    "size over the end": header(size=10**6),
    "size of an exabyte": header(size=2**60),
    "name header of a gigabyte": header(type=b"L", size=2**30) + b"a" * 5000,
    "name header over the limit": header(type=b"x", size=MAX_NAME_BYTES + 1) + b"a" * (MAX_NAME_BYTES + 1024),
    "pax record of no length": header(type=b"x", size=512) + b"0 path=x\n".ljust(512, b"a"),
    "pax record longer than its header": header(type=b"x", size=512) + b"9999 path=x\n".ljust(512, b"a"),
    "cut in a header": header(size=0)[:300],
    "checksum": header(size=0).replace(b"a.jpg", b"b.jpg"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_in_words(tmp_path: Path, kind: str) -> None:
    (tmp_path / "0.tar").write_bytes(HOSTILE[kind])
    with pytest.raises(BadShardError) as raised:
        list(members(tmp_path, "0.tar"))
    assert str(raised.value)
    write_shard(tmp_path / "1.tar", range(30))
    pictures = read_pictures(tmp_path, seed=0)
    assert [entry.path for entry in pictures.summary.bad] == ["0.tar"]


def test_what_comes_before_the_damage_is_used(tmp_path: Path) -> None:
    whole = write_shard(tmp_path / "0.tar", range(40))
    os.truncate(whole, whole.stat().st_size // 2)
    pictures = read_pictures(tmp_path, seed=0, max_bad_ratio=0.2)
    assert 15 < len(pictures.train) + len(pictures.val) + len(pictures.test) < 25
    assert any("truncated" in entry.reason for entry in pictures.summary.bad)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([("x.jpg", sample(1))], "without .cls or .json"),
        ([("x.jpg", sample(1)), ("x.png", sample(2)), ("x.cls", b"bags")], "several pictures"),
        ([("x.jpg", sample(1)), ("x.jpg", sample(2)), ("x.cls", b"bags")], "several pictures"),
        ([("x.jpg", sample(1)), ("x.cls", b"  ")], "names no class"),
        ([("x.jpg", sample(1)), ("x.cls", b"b" * 70_000)], "a class of 70000 bytes"),
        ([("x.jpg", sample(1)), ("x.json", b"[" * 50_000)], "damaged"),
        ([("x.jpg", sample(1)), ("x.json", b'{"cls": {"a": 1}}')], "names no class"),
        ([("x.jpg", b"<html>"), ("x.cls", b"bags")], "HTML page"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_samples_are_listed_and_the_rest_is_used(
    tmp_path: Path, parts: list[tuple[str, bytes]], reason: str
) -> None:
    write_shard(tmp_path / "0.tar", range(40))
    with tarfile.open(tmp_path / "1.tar", "w") as archive:
        for name, content in parts:
            add(archive, name, content)
    pictures = read_pictures(tmp_path, seed=0)
    [bad] = pictures.summary.bad
    assert bad.path.startswith("1.tar/x")
    assert reason in bad.reason


def test_a_class_that_cannot_be_learnt_and_validated_is_refused(tmp_path: Path) -> None:
    write_shard(tmp_path / "0.tar", range(6), lambda number: ("cls", b"rare" if number == 5 else b"bags"))
    with pytest.raises(BadInput, match=r"too few pictures .*: rare \(1\)"):
        read_pictures(tmp_path, seed=0)


def test_no_picture_with_a_class_is_refused(tmp_path: Path) -> None:
    write_shard(tmp_path / "0.tar", range(6), lambda _: ("txt", b"bags"))
    with pytest.raises(BadInput, match="no picture with a class"):
        read_pictures(tmp_path, seed=0)


def test_one_class_is_refused(tmp_path: Path) -> None:
    write_shard(tmp_path / "0.tar", range(6), lambda _: ("cls", b"bags"))
    with pytest.raises(BadInput, match="only one class in"):
        read_pictures(tmp_path, seed=0)


def test_an_archive_beside_class_folders_is_no_shard(tmp_path: Path) -> None:
    for number in range(8):
        odd.write(tmp_path / CLASSES[number % 2] / f"{number}.jpg", sample(number))
    write_shard(tmp_path / "backup.tar", range(8))
    assert len(read_pictures(tmp_path, seed=0).train) < 8


def test_a_shard_cut_after_it_was_indexed_is_refused(tmp_path: Path) -> None:
    write_shard(tmp_path / "0.tar", range(8))
    pictures = read_pictures(tmp_path, seed=0)
    os.truncate(tmp_path / "0.tar", 600)
    with pytest.raises(BadInput, match=r"cannot use the picture 0\.tar/"):
        batches(pictures, 2)


@given(st.binary(max_size=3000), st.integers(0, 2000))
@settings(max_examples=60, deadline=None)
def test_any_bytes_end_in_members_or_in_words(content: bytes, place: int) -> None:
    shard = io.BytesIO()
    with tarfile.open(fileobj=shard, mode="w") as archive:
        add(archive, "a.jpg", b"x" * 700)
        add(archive, "ü" * 120 + ".cls", b"y")
    mixed = bytearray(shard.getvalue()[:4096])
    mixed[place : place + len(content)] = content
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(BadShardError):
        (Path(folder) / "0.tar").write_bytes(mixed)
        for _, inside in members(Path(folder), "0.tar"):
            assert 0 <= inside.offset <= inside.offset + inside.num_bytes <= len(mixed)
