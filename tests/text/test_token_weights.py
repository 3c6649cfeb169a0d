"""A mean over tokens, accumulated over micro-batches with unequal numbers of them: case B99, exact where weighted."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from rigwise.train.batch.parity import gradient_parity, weighted
from rigwise.train.batch.recovery import RecoveringStep
from rigwise.train.step.device import CpuDevice
from rigwise.train.text.decoder import Decoder
from rigwise.train.text.scoring import TokenLoss, mean_token_loss
from rigwise.train.text.sequences import IGNORED
from rigwise.train.text.stream import num_labels

VOCABULARY, SIZE, LENGTH = 11, 8, 12
LOSS = TokenLoss(device=CpuDevice(), apart=False)


def decoder() -> Decoder:
    torch.manual_seed(0)
    return Decoder(VOCABULARY, layers=1, width=8, heads=2)


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Rows with 1, 2, ... labels, and one without any."""
    chance = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, VOCABULARY, (SIZE, LENGTH), generator=chance)
    labels = tokens.roll(-1, dims=1)
    for row in range(SIZE):
        labels[row, row:] = IGNORED
    return tokens, labels, torch.ones(SIZE, LENGTH, dtype=torch.int32)


def plain_loss(model: nn.Module, whole: Sequence[Tensor]) -> Tensor:
    """The reference: PyTorch's own mean over the labels of the whole batch."""
    tokens, labels, _ = whole
    return functional.cross_entropy(model(tokens).transpose(1, 2), labels, ignore_index=IGNORED)


def gradient(model: nn.Module) -> Tensor:
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


class Tight(Decoder):
    """Runs out of memory above so many rows."""

    limit = SIZE

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        if len(tokens) > self.limit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. (simulated)")
        return super().forward(tokens, segments)


def test_the_loss_is_pytorchs_mean_over_labels() -> None:
    model, whole = decoder(), batch()
    assert LOSS(model, whole).item() == pytest.approx(plain_loss(model, whole).item(), rel=1e-6)
    assert num_labels(whole) == sum(range(SIZE))


def test_without_a_label_the_loss_is_nothing_rather_than_nan() -> None:
    model = decoder()
    tokens, _, segments = batch()
    loss = LOSS(model, (tokens, torch.full_like(tokens, IGNORED), segments))
    loss.backward()
    assert loss.item() == 0
    assert gradient(model).norm() == 0


def test_b99_micro_batches_of_unequal_token_counts_give_the_gradient_of_the_whole() -> None:
    assert gradient_parity(decoder(), LOSS, batch(), num_labels).relative_error < 1e-5
    by_samples = gradient_parity(decoder(), LOSS, batch())
    assert by_samples.relative_error > 1e-2
    assert not by_samples.equal


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
def test_b99_a_recovered_step_is_the_step_of_the_whole_batch(limit: int) -> None:
    whole = batch()
    reference = decoder()
    plain_loss(reference, whole).backward()
    torch.manual_seed(0)
    tight = Tight(VOCABULARY, layers=1, width=8, heads=2)
    tight.limit = limit
    step = RecoveringStep(tight, torch.optim.SGD(tight.parameters(), lr=0.0), LOSS, count=num_labels)
    loss = step(whole)
    assert step.micro_batch_size is not None
    assert float(loss) == pytest.approx(plain_loss(reference, whole).item(), rel=1e-5)
    difference = gradient(tight) - gradient(reference)
    assert float(difference.norm() / gradient(reference).norm()) < 1e-5
    assert step.parity is None or step.parity.equal


def test_b99_losses_that_are_nan_without_a_label_do_not_spoil_the_rest() -> None:
    whole = batch()
    parts = weighted([[tensor[row : row + 1] for tensor in whole] for row in range(SIZE)], num_labels)
    assert len(parts) == SIZE - 1  # the first row has no label, for which PyTorch's mean is NaN
    total = sum(plain_loss(decoder(), part) * share for part, share in parts)
    assert total.item() == pytest.approx(plain_loss(decoder(), whole).item(), rel=1e-5)


def test_where_nothing_counts_the_first_part_stands_for_all() -> None:
    empty = [torch.zeros(2, 3), torch.full((2, 3), IGNORED)]
    assert weighted([empty], num_labels) == [(empty, 1.0)]


def test_the_loss_of_large_logits_is_finite_in_half_precision() -> None:
    logits = torch.full((1, 2, 5), 60_000.0, dtype=torch.float16)
    assert torch.isfinite(mean_token_loss(logits, torch.tensor([[0, 1]])))
