"""Which documents a run has, and on which side of the split each is."""

import gzip
import json
from pathlib import Path

import pytest
from text_laboratory import documents, write_records, write_texts

from rigwise.errors import BadInput
from rigwise.train.sample_ledger import SPLITS
from rigwise.train.text.corpus import TextPlan, read_texts
from rigwise.train.text.records import Part, RawDocument, read_documents
from rigwise.train.text.text_set import TextSet

PLAN = TextPlan(seed=0)


def parts(record: object, tmp_path: Path, field: str = "text") -> tuple[Part, ...]:
    write_records(tmp_path / "one.jsonl", [record])
    (found,) = read_documents(tmp_path, "one.jsonl", field)
    assert isinstance(found, RawDocument), found
    return found.parts


def reason(line: str, tmp_path: Path) -> str:
    (tmp_path / "bad.jsonl").write_text(line)
    (found,) = read_documents(tmp_path, "bad.jsonl", "text")
    assert not isinstance(found, RawDocument)
    assert found.path == "bad.jsonl:1"
    return found.reason


def names(texts: TextSet) -> dict[str, list[str]]:
    return {split: [document.name for document in getattr(texts, split)] for split in SPLITS}


def test_a_text_is_learned_whole(tmp_path: Path) -> None:
    assert parts({"text": "all of it", "id": 3}, tmp_path) == (Part("all of it"),)
    assert parts({"body": "this", "text": "not this"}, tmp_path, field="body") == (Part("this"),)


def test_of_a_prompt_only_the_completion_is_learned(tmp_path: Path) -> None:
    found = parts({"prompt": "2 + 2 =", "completion": " 4"}, tmp_path)
    assert found == (Part("2 + 2 =", learned=False), Part(" 4"))
    assert parts({"prompt": "", "completion": "4"}, tmp_path) == (Part("4"),)


def test_of_a_conversation_only_the_assistant_is_learned(tmp_path: Path) -> None:
    turns = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello"), ("user", "Bye"), ("assistant", "Bye")]
    found = parts({"messages": [{"role": role, "content": content} for role, content in turns]}, tmp_path)
    assert found == (
        Part("system: Be brief.\nuser: Hi\nassistant: ", learned=False),
        Part("Hello\n"),
        Part("user: Bye\nassistant: ", learned=False),
        Part("Bye\n"),
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[1]", "a record is an object, not list"),
        ('{"words": "x"}', "neither 'text', completion nor messages, but 'words'"),
        ('{"text": 3}', "text is a text, not int"),
        ('{"completion": null}', "completion is a text, not NoneType"),
        ('{"messages": "x"}', "messages are a list"),
        ('{"messages": [{"role": "user", "content": "x"}]}', "nothing to learn"),
        ('{"text": "\\ud800"}', "half of a surrogate pair"),
    ],
)
def test_a_bad_record_is_named_with_its_line(tmp_path: Path, line: str, expected: str) -> None:
    assert expected in reason(line, tmp_path)


def test_compressed_records_are_read_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"text": text}) + "\n" for text in documents(9))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert len(list(read_documents(tmp_path, "a.jsonl.gz", "text"))) == 9
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode())[:40])
    (tmp_path / "c.jsonl.gz").write_bytes(b"no gzip")
    for name in ("b.jsonl.gz", "c.jsonl.gz"):
        *_, bad = read_documents(tmp_path, name, "text")
        assert bad.path == name


def test_the_split_is_by_document_and_the_same_again(tmp_path: Path) -> None:
    root = write_texts(tmp_path / "texts", documents(40))
    texts = read_texts(root, PLAN)
    assert texts.summary.counts == {"train": 36, "val": 4, "test": 0}
    assert names(texts) == names(read_texts(root, PLAN))
    assert names(texts) != names(read_texts(root, TextPlan(seed=1)))
    assert texts.train[0].sha256 != texts.train[1].sha256


def test_copies_stay_on_one_side_and_are_counted(tmp_path: Path) -> None:
    texts = read_texts(
        write_texts(tmp_path / "texts", documents(20) * 3), TextPlan(seed=0, val_ratio=0.3, test_ratio=0.2)
    )
    sides = {split: {document.sha256 for document in getattr(texts, split)} for split in SPLITS}
    assert all(sides.values())
    assert not sides["train"] & sides["val"]
    assert not sides["train"] & sides["test"]
    assert "copies of another document: 40" in texts.summary.notes


def test_copies_across_given_splits_are_said(tmp_path: Path) -> None:
    for split in ("train", "val"):
        write_texts(tmp_path / "texts" / split, documents(6))
    texts = read_texts(tmp_path / "texts", PLAN)
    assert texts.summary.counts == {"train": 6, "val": 6, "test": 0}
    assert texts.summary.notes[0] == "documents of val that are also in train, which flatters its loss: 6"


def test_a_single_text_is_cut_and_its_end_validates(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("".join(f"line number {number}\n" for number in range(100)))
    texts = read_texts(book, PLAN)
    (train,), (val,) = texts.train, texts.val
    assert (train.span, val.span) == ((0, train.span[1]), (train.span[1], len(book.read_text())))
    assert book.read_text()[val.span[0] - 1] == "\n"
    assert texts.summary.characters["val"] == pytest.approx(0.1 * len(book.read_text()), rel=0.1)
    assert texts.summary.split_rule == "one text: its last 10.0 % validate"


def test_bad_files_are_named_and_skipped_up_to_the_limit(tmp_path: Path) -> None:
    root = write_texts(tmp_path / "texts", documents(30))
    (root / "binary.txt").write_bytes(b"\x00\x01")
    (root / "latin.txt").write_bytes("caf\u00e9".encode("latin-1"))
    (root / "empty.txt").write_text(" \n")
    texts = read_texts(root, TextPlan(seed=0, max_bad_ratio=0.1))
    assert {bad.path for bad in texts.summary.bad} == {"binary.txt", "latin.txt"}
    assert "documents without anything to learn, not used: 1" in texts.summary.notes
    with pytest.raises(BadInput, match="2 of 32 files and records") as caught:
        read_texts(root, TextPlan(seed=0, max_bad_ratio=0.01))
    assert "binary.txt: it holds NUL bytes" in caught.value.why


@pytest.mark.parametrize("texts", [["x"], ["same"] * 9, ["", " "]])
def test_too_little_text_is_one_clear_error(tmp_path: Path, texts: list[str]) -> None:
    with pytest.raises(BadInput, match="too little text"):
        read_texts(write_texts(tmp_path / "texts", texts), PLAN)


def test_an_empty_val_folder_is_one_clear_error(tmp_path: Path) -> None:
    write_texts(tmp_path / "texts" / "train", documents(5))
    write_texts(tmp_path / "texts" / "val", [" "])
    with pytest.raises(BadInput, match="no usable document in val"):
        read_texts(tmp_path / "texts", PLAN)
