"""DATA in WebDataset shards is audited as the same pictures in folders are, and answers about it count."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from audit.audited_sets import audited, draw_set, encoded, of_kind, recoloured, scene
from train.bad_pictures import write

from rigwise.records.review import Answer, Review
from rigwise.train.audit.features import frozen_features
from rigwise.train.audit.look import look_at_all
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.gather import gather
from rigwise.train.pictures.layout import find_layout
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.sample_ledger import SPLITS

COLOURS = {"a": (216, 120, 118), "b": (88, 148, 206)}


def pack(folder: Path, shard: Path) -> Path:
    """The class folders in `folder` as one shard; returns the folder of the shard."""
    shard.parent.mkdir()
    with tarfile.open(shard, "w") as archive:
        for path in sorted(folder.glob("*/*")):
            key = f"{path.parent.name}-{path.stem}"
            for name, content in ((key + path.suffix, path.read_bytes()), (f"{key}.cls", path.parent.name.encode())):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return shard.parent


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """A set whose background gives the class away, with a copy and a damaged picture."""
    root = draw_set(tmp_path / "set", {"a": 12, "b": 12}, lambda image, name, _: recoloured(image, COLOURS[name]))
    write(root / "b" / "copy.jpg", encoded(recoloured(scene("set/a/0"), COLOURS["a"])))
    write(root / "a" / "cut.jpg", encoded(scene("cut"))[:-500])
    return root


@pytest.fixture
def shards(folders: Path, tmp_path: Path) -> Path:
    return pack(folders, tmp_path / "shards" / "train-0.tar")


def paths(pictures: PictureSet) -> Iterable[str]:
    return (picture.path for split in SPLITS for picture in getattr(pictures, split))


def test_the_same_is_found_in_shards_as_in_folders(folders: Path, shards: Path) -> None:
    ours, theirs = audited(shards), audited(folders)
    assert (ours.counts, ours.num_looked_at, ours.notes) == (theirs.counts, theirs.num_looked_at, theirs.notes)
    assert [each.reason for each in ours.bad] == [each.reason for each in theirs.bad]
    assert [entry.path for entry in ours.bad] == ["train-0.tar/a-cut.jpg"]
    (copy,) = of_kind(ours, "copy")
    assert copy.path == "train-0.tar/b-copy.jpg"
    assert copy.thumbnail.startswith("data:image/jpeg")
    (given_away,) = (each for each in ours.shortcuts if each.gives_class_away and each.name == "background_colour")
    assert all(shown.thumbnail for shown in given_away.examples)


def test_a_network_sees_the_same_in_shards_as_in_folders(folders: Path, shards: Path) -> None:
    seen = [
        frozen_features(root, look_at_all(root, gather(root, find_layout(root)).candidates[:4]).seen, image_size=64)
        for root in (folders, shards)
    ]
    assert np.array_equal(*seen)


def test_a_confirmed_suspect_is_left_out_of_the_audit_and_of_training(shards: Path) -> None:
    (suspect,) = of_kind(audited(shards), "copy")
    review = Review(answers=(Answer(kind="copy", path=suspect.path, answer="wrong", sha256=suspect.sha256),))
    report = audited(shards, review=review)
    assert (of_kind(report, "copy"), report.left_out) == ([], (suspect.path,))
    pictures = read_pictures(shards, seed=0, review=review)
    assert suspect.path not in paths(pictures)
    assert "pictures left out, as a person said: 1" in pictures.summary.notes


def test_an_answer_about_what_the_member_was_before_is_not_used(shards: Path) -> None:
    answer = Answer(kind="copy", path="train-0.tar/b-copy.jpg", answer="wrong", sha256="0" * 64)
    assert audited(shards, review=Review(answers=(answer,))).left_out == ()
    assert answer.path in paths(read_pictures(shards, seed=0, review=Review(answers=(answer,))))


def test_one_class_in_shards_is_looked_at_too(tmp_path: Path) -> None:
    draw_set(tmp_path / "set", {"a": 6})
    assert audited(pack(tmp_path / "set", tmp_path / "shards" / "0.tar")).num_looked_at == 6
