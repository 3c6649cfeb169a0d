"""Documents tokenised once: what is kept, checked, found again and thrown away."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from text_laboratory import documents, table_of, write_records, write_texts

from rigwise.errors import BadInput
from rigwise.train.kept.array_file import ArrayFile, lock
from rigwise.train.progress import Silent
from rigwise.train.text.corpus import TextPlan, read_texts
from rigwise.train.text.text_set import TextSet
from rigwise.train.text.tokeniser import END_OF_TEXT, ByteTokeniser, Tokens
from rigwise.train.text.tokens import TokenFile, TokenTable, tokenised


class Counting(ByteTokeniser):
    """Counts what it was asked for."""

    def __init__(self, fingerprint: str = "bytes/1") -> None:
        self.fingerprint = fingerprint
        self.num_texts = 0

    def encode(self, texts: list[str]) -> list[Tokens]:
        self.num_texts += len(texts)
        return super().encode(texts)


def read(root: Path) -> TextSet:
    return read_texts(root, TextPlan(seed=0))


def tables(texts: TextSet, base: Path, tokeniser: ByteTokeniser) -> dict[str, TokenTable]:
    return tokenised(texts, tokeniser, "text", Silent(), base)


def words(table: TokenTable, index: int) -> str:
    return ByteTokeniser().decode(table.document(index)[0].tolist())


def kept(base: Path) -> Path:
    (folder,) = base.iterdir()
    return folder


def test_every_byte_comes_back(tmp_path: Path) -> None:
    texts = ["plain", "é, \U0001f600 and \r\n tabs\t", "a" * 1000]
    table = table_of(texts, tmp_path)
    for index, text in enumerate(texts):
        tokens, learned = table.document(index)
        assert tokens[0] == tokens[-1] == END_OF_TEXT
        assert words(table, index) == text
        assert not learned[0]
        assert learned[1:].all()
    assert table.document_lengths.tolist() == [len(text.encode()) + 2 for text in texts]


def test_any_stretch_of_a_document_is_that_stretch(tmp_path: Path) -> None:
    root = write_records(
        tmp_path / "a.jsonl",
        [
            {
                "messages": [
                    {"role": role, "content": f"{role} {turn}"} for turn in "ab" for role in ("user", "assistant")
                ]
            },
            {"text": "held back"},
        ],
    )
    texts = read(root)
    split = "train" if len(texts.train[0].parts) > 1 else "val"
    table = tables(texts, tmp_path / "cache", ByteTokeniser())[split]
    tokens, learned = table.document(0)
    assert 0 < learned.sum() < len(learned) - 1
    for first in range(len(tokens) + 2):
        for count in (1, 2, 7, len(tokens)):
            piece, flags = table.document(0, first, count)
            assert piece.tolist() == tokens[first : first + count].tolist()
            assert flags.tolist() == learned[first : first + count].tolist()


def test_a_second_run_tokenises_nothing_and_a_changed_text_alone(tmp_path: Path) -> None:
    root, base = write_texts(tmp_path / "texts", documents(30)), tmp_path / "cache"
    counts = []
    for change in (None, None, "000.txt", "new.txt"):
        if change:
            (root / change).write_text(f"now in {change}")
        tokeniser = Counting()
        found = tables(read(root), base, tokeniser)
        counts.append(tokeniser.num_texts)
        assert sorted(words(found["train"], index) for index in range(found["train"].num_documents)) == sorted(
            (root / document.path).read_text() for document in read(root).train
        )
    assert counts == [30, 0, 1, 1]


def test_another_tokeniser_has_a_cache_of_its_own(tmp_path: Path) -> None:
    texts = read(write_texts(tmp_path / "texts", documents(5)))
    for name in ("one", "two"):
        tokeniser = Counting(name)
        tables(texts, tmp_path / "cache", tokeniser)
        assert tokeniser.num_texts == 5
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_copies_are_kept_once(tmp_path: Path) -> None:
    tokeniser = Counting()
    tables(read(write_texts(tmp_path / "texts", documents(5) * 4)), tmp_path / "cache", tokeniser)
    assert tokeniser.num_texts == 5


@pytest.mark.parametrize("damage", ["flip", "cut", "index"])
def test_what_is_damaged_is_tokenised_again(tmp_path: Path, damage: str) -> None:
    texts, base = read(write_texts(tmp_path / "texts", documents(20))), tmp_path / "cache"
    before = tables(texts, base, ByteTokeniser())["train"]
    expected = [words(before, index) for index in range(before.num_documents)]
    file = kept(base) / ("index.tsv" if damage == "index" else "tokens.bin")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.unlink()  # replaced, as a mapped file must be
    file.write_bytes(content[: len(content) // 2] if damage == "cut" else content)
    tokeniser = Counting()
    after = tables(texts, base, tokeniser)["train"]
    assert 0 < tokeniser.num_texts < 20
    assert [words(after, index) for index in range(after.num_documents)] == expected


def test_a_text_that_changes_meanwhile_is_one_clear_error(tmp_path: Path) -> None:
    root = write_texts(tmp_path / "texts", documents(5))
    texts = read(root)
    (root / "003.txt").write_text("something else")
    with pytest.raises(BadInput, match="changed while it was read"):
        tables(texts, tmp_path / "cache", ByteTokeniser())


def test_two_runs_at_once_are_told(tmp_path: Path) -> None:
    texts, base = read(write_texts(tmp_path / "texts", documents(5))), tmp_path / "cache"
    tables(texts, base, ByteTokeniser())
    with lock(kept(base)), pytest.raises(BadInput, match="cannot be kept") as caught:
        tables(texts, base, ByteTokeniser())
    assert "another run" in caught.value.why


def test_a_full_disk_is_one_clear_error_and_what_was_written_stays(tmp_path: Path, small_disk: object) -> None:
    assert callable(small_disk)
    disk = small_disk(2**20)
    texts = read(write_texts(tmp_path / "texts", documents(5)))
    with pytest.raises(BadInput, match="cannot be kept"):
        tables(texts, disk / "cache", ByteTokeniser())


def test_numbers_beyond_65535_are_kept_whole(tmp_path: Path) -> None:
    file = ArrayFile(tmp_path, np.uint32)
    file.add(iter([("ab" * 32, np.array([1, 70_000, 2**32 - 1], np.uint32))]))
    assert ArrayFile(tmp_path, np.uint32).array("ab" * 32).tolist() == [1, 70_000, 2**32 - 1]


KILLED = """
import sys
from pathlib import Path
import numpy as np
from rigwise.train.kept import array_file
from rigwise.train.text.tokens import TokenFile
def made():
    for number in range(10**6):
        print(number, flush=True)
        yield f"{number:064x}", np.full(100_000, number % 251, np.uint16)
TokenFile(Path(sys.argv[1]), np.uint16).add(made())
"""


def test_a_killed_writer_leaves_fewer_tokens_never_wrong_ones(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, env=os.environ)
    deadline = time.monotonic() + 60
    while not (tmp_path / "index.tsv").exists() or len((tmp_path / "index.tsv").read_bytes()) < 100:
        assert time.monotonic() < deadline
        assert child.stdout is not None
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    file = TokenFile(tmp_path, np.uint16)
    assert len(file.entries) > 100
    assert file.drop_damaged(set(file.entries), lambda: None) == 0
    for sha256 in list(file.entries)[:: len(file.entries) // 10]:
        assert (file.array(sha256) == int(sha256, 16) % 251).all()
