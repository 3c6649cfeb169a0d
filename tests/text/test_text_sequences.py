"""Batches against a plain reference: what is read, what is to be said next, and that nothing is lost or said twice."""

import pickle
from collections import Counter
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from text_laboratory import documents, table_of, write_records

from rigwise.train.progress import Silent
from rigwise.train.text.corpus import TextPlan, read_texts
from rigwise.train.text.sequences import IGNORED, Bucketed, Packed, pieces
from rigwise.train.text.stream import TextStream, num_labels
from rigwise.train.text.tokeniser import ByteTokeniser
from rigwise.train.text.tokens import TokenTable, tokenised

CONTEXT, BATCH = 24, 4


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TokenTable:
    return table_of(documents(37), tmp_path_factory.mktemp("table"))


@pytest.fixture
def prompts(tmp_path: Path) -> TokenTable:
    records = [{"prompt": f"{number} doubled is ", "completion": str(2 * number)} for number in range(50)]
    texts = read_texts(write_records(tmp_path / "sums.jsonl", records), TextPlan(seed=0))
    return tokenised(texts, ByteTokeniser(), "text", Silent(), tmp_path / "cache")["train"]


def stream(table: TokenTable, *, packed: bool, seed: int = 0, batch_size: int = BATCH) -> TextStream:
    return TextStream(table, context=CONTEXT, seed=seed, batch_size=batch_size, packed=packed)


def pairs_of(table: TokenTable) -> Counter[tuple[int, int]]:
    """Every token of every document with the one after it: what there is to learn."""
    return Counter(pair for index in range(table.num_documents) for pair in pairwise(table.document(index)[0].tolist()))


def pairs_in(tokens: np.ndarray, labels: np.ndarray) -> Counter[tuple[int, int]]:
    asked = labels != IGNORED
    return Counter(zip(tokens[asked].tolist(), labels[asked].tolist(), strict=True))


def test_an_epoch_of_packed_sequences_is_every_token_of_every_document(table: TokenTable) -> None:
    packed = Packed(table, context=CONTEXT, batch_size=1, seed=3)
    rows = [packed.rows(step)[0] for step in range(packed.num_per_epoch)]
    assert all(len(row.tokens) == CONTEXT for row in rows)
    learned = sum((pairs_in(row.tokens, row.labels) for row in rows), Counter())
    expected = pairs_of(table)
    repeated = packed.num_per_epoch * CONTEXT - int(table.document_lengths.sum())
    assert 0 <= repeated < CONTEXT
    assert not expected - learned
    assert (learned - expected).total() <= repeated


def test_a_label_is_the_next_token_of_the_same_document_or_none(table: TokenTable) -> None:
    for tokens, labels, segments in stream(table, packed=True).train_batches(20):
        next_tokens, same = tokens[:, 1:], segments[:, 1:] == segments[:, :-1]
        assert torch.equal(labels[:, :-1][same], next_tokens[same])
        assert (labels[:, :-1][~same] == IGNORED).all()
        assert (segments[:, 0] == 1).all()
        assert (segments.diff(dim=1) >= 0).all()


def test_documents_shorter_than_one_sequence_fill_it_again_and_again(tmp_path: Path) -> None:
    tiny = table_of(["ab"], tmp_path)
    ((tokens, labels, segments),) = stream(tiny, packed=True, batch_size=1).train_batches(1)
    assert tokens[0].tolist() == [256, 97, 98, 256] * 6
    assert labels[0].tolist() == [97, 98, 256, IGNORED] * 6
    assert segments[0, ::4].tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("start", [1, 7, 100])
def test_batches_from_step_n_on_are_those_of_an_uninterrupted_run(table: TokenTable, packed: bool, start: int) -> None:
    whole = list(stream(table, packed=packed).train_batches(start + 3))[start:]
    resumed = list(stream(table, packed=packed).train_batches(3, start))
    assert len(resumed) == 3
    for one, other in zip(whole, resumed, strict=True):
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))


@pytest.mark.parametrize("packed", [True, False])
def test_another_seed_and_another_epoch_are_another_order(table: TokenTable, packed: bool) -> None:
    first, other = (next(iter(stream(table, packed=packed, seed=seed).train_batches(1)))[0] for seed in (0, 1))
    assert first.shape != other.shape or not torch.equal(first, other)


def test_an_epoch_of_buckets_is_every_document_once(table: TokenTable) -> None:
    plain, sorted_ = (Bucketed(table, context=CONTEXT, batch_size=1, seed=0, sort=sort) for sort in (False, True))
    assert plain.num_per_epoch == table.num_documents
    starts = [
        Counter(tuple(kind.rows(step)[0].tokens.tolist()) for step in range(table.num_documents))
        for kind in (plain, sorted_)
    ]
    # With 37 documents in batches of one, sorting reaches over 16: whole groups of them hold the same samples.
    assert Counter(dict.fromkeys(starts[0], 1)).total() == table.num_documents
    several = Bucketed(table, context=CONTEXT, batch_size=1, seed=0)
    unsorted = Bucketed(table, context=CONTEXT, batch_size=1, seed=0, sort=False)
    for group in range(4):
        steps = range(16 * group, 16 * group + 16)
        assert Counter(tuple(several.rows(step)[0].tokens) for step in steps) == Counter(
            tuple(unsorted.rows(step)[0].tokens) for step in steps
        )


def test_like_lengths_together_leave_little_padding(tmp_path: Path) -> None:
    lengths = np.random.default_rng(0).integers(1, 23, size=400)
    table = table_of([f"{number:04}"[:3] + "x" * int(length) for number, length in enumerate(lengths)], tmp_path)
    padding = stream(table, packed=False, batch_size=8).padding()
    assert padding.as_drawn_ratio > 0.25
    assert padding.ratio < 0.06
    filled, places = 0, 0
    for tokens, _, segments in stream(table, packed=False, batch_size=8).train_batches(50):
        filled, places = filled + int((segments > 0).sum()), places + tokens.numel()
    assert 1 - filled / places == pytest.approx(padding.ratio, abs=1e-9)
    assert filled == stream(table, packed=False, batch_size=8).num_tokens(50)


def test_of_a_prompt_nothing_is_to_be_said(prompts: TokenTable) -> None:
    for tokens, labels, segments in stream(prompts, packed=False).train_batches(6):
        for row, asked, segment in zip(tokens, labels, segments, strict=True):
            said = ByteTokeniser().decode(asked[asked != IGNORED].tolist())
            read = ByteTokeniser().decode(row[segment > 0].tolist())
            number = int(read.split()[0])
            assert said == str(2 * number)
            assert asked[asked != IGNORED][-1] == prompts.end


def test_a_prompt_that_fills_the_context_leaves_nothing_and_is_not_used(tmp_path: Path) -> None:
    records = [{"prompt": "x" * length, "completion": "y"} for length in (5, CONTEXT - 1, CONTEXT, 500)]
    texts = read_texts(write_records(tmp_path / "a.jsonl", [*records, {"text": "held back"}]), TextPlan(seed=0))
    every = {**{each.record: each for each in texts.val}, **{each.record: each for each in texts.train}}
    texts = msgspec.structs.replace(texts, train=tuple(every[number] for number in (1, 2, 3, 4)))
    table = tokenised(texts, ByteTokeniser(), "text", Silent(), tmp_path / "cache")["train"]
    assert Bucketed(table, context=CONTEXT, batch_size=1, seed=0).num_per_epoch == 2
    assert all(num_labels(batch) > 0 for batch in stream(table, packed=False, batch_size=1).train_batches(8))


def test_the_worst_batch_is_the_longest_there_is(table: TokenTable) -> None:
    mixed = TextStream(table, context=200, seed=0, batch_size=3, packed=False)
    worst = mixed.worst_batch()[0]
    assert worst.shape == (3, int(np.sort(table.document_lengths)[-1]) - 1)
    assert all(batch[0].shape[1] <= worst.shape[1] for batch in mixed.train_batches(40))
    assert stream(table, packed=True).worst_batch()[0].shape == (BATCH, CONTEXT)


def test_validation_asks_for_every_token_once(table: TokenTable) -> None:
    learned: Counter[tuple[int, int]] = Counter()
    lengths = []
    for (tokens, labels, _), members in stream(table, packed=True).eval_batches(10**9):
        assert len(members) == len(tokens)
        lengths.append(tokens.shape[1])
        learned += pairs_in(tokens.numpy(), labels.numpy())
    assert learned == pairs_of(table)
    assert lengths == sorted(lengths, reverse=True)


def test_a_large_validation_is_evenly_spaced_pieces(table: TokenTable) -> None:
    chosen = pieces(table, CONTEXT, 10 * CONTEXT)
    assert len(chosen) == 10
    assert chosen[0].document == 0
    assert chosen[-1].document == table.num_documents - 1
    assert len(set(chosen)) == 10


def test_a_table_can_be_sent_to_another_process(table: TokenTable) -> None:
    sent = pickle.loads(pickle.dumps(table))
    assert sent.document(3)[0].tolist() == table.document(3)[0].tolist()
