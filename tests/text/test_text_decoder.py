"""The built-in model: causal, apart where asked, tied, and the same in any company."""

import pytest
import torch
from torch.nn import functional

from rigwise.train.text.decoder import Decoder, rotated, rotations

VOCABULARY = 13


@pytest.fixture
def model() -> Decoder:
    torch.manual_seed(0)
    return Decoder(VOCABULARY, layers=2, width=16, heads=2).eval()


def tokens(rows: int = 2, length: int = 10) -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(1))


def test_no_token_sees_a_later_one(model: Decoder) -> None:
    before = tokens()
    after = before.clone()
    after[:, 6:] = (after[:, 6:] + 1) % VOCABULARY
    one, other = model(before), model(after)
    assert torch.allclose(one[:, :6], other[:, :6], atol=1e-6)
    assert not torch.allclose(one[:, 6:], other[:, 6:], atol=1e-4)


def test_a_packed_document_is_read_as_if_it_were_alone(model: Decoder) -> None:
    first, second = tokens(1, 4), tokens(1, 7)
    packed = torch.cat([first, second], dim=1)
    segments = torch.tensor([[1] * 4 + [2] * 7])
    logits = model(packed, segments)
    assert torch.allclose(logits[:, :4], model(first), atol=1e-5)
    assert torch.allclose(logits[:, 4:], model(second), atol=1e-5)
    assert not torch.allclose(model(packed)[:, 4:], model(second), atol=1e-3)


def test_padding_behind_the_tokens_changes_nothing(model: Decoder) -> None:
    alone = tokens(1, 5)
    padded = torch.cat([alone, torch.zeros(1, 4, dtype=torch.int64)], dim=1)
    assert torch.allclose(model(padded)[:, :5], model(alone), atol=1e-5)


def test_rotary_attention_depends_on_distance_alone() -> None:
    query, key = torch.randn(2, 1, 1, 1, 8, generator=torch.Generator().manual_seed(0)).unbind(0)
    turned = [rotated(each.expand(1, 1, 20, 8), rotations(20, 8, torch.device("cpu"))) for each in (query, key)]
    products = (turned[0] @ turned[1].transpose(-1, -2))[0, 0]
    for distance in range(5):
        diagonal = products.diagonal(offset=-distance)
        assert torch.allclose(diagonal, diagonal[0].expand_as(diagonal), atol=1e-5)
    assert not torch.allclose(products[5, 5], products[5, 3])


def test_the_embedding_is_the_output_layer_and_starts_near_chance(model: Decoder) -> None:
    assert {name for name, _ in model.named_parameters() if "embedding" in name or "out" in name} == {
        "embedding.weight",
        "blocks.0.attention.out.weight",
        "blocks.1.attention.out.weight",
    }
    logits = model(tokens(8, 32))
    loss = functional.cross_entropy(logits.flatten(0, 1), tokens(8, 32).roll(1, dims=0).flatten())
    assert loss.item() == pytest.approx(torch.tensor(VOCABULARY).log().item(), rel=0.1)
