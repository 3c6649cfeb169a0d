"""A step that goes on: micro-batches after out of memory, another precision after an overflow. On real steps."""

from collections.abc import Sequence
from functools import partial

import pytest
import torch
from simulated_gpu import SimulatedGpu
from torch import Tensor, nn

from rigwise.train.batch.not_finite import first_not_finite
from rigwise.train.batch.parity import gradient_parity
from rigwise.train.batch.recovery import RecoveringStep
from rigwise.train.step.ledger import LossIsNotFinite
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.units import MIB

NUM_SAMPLES, FEATURES, CLASSES = 16, 64, 3


def net(*extra: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(FEATURES, 512), *extra, nn.ReLU(), nn.Linear(512, CLASSES))


def mean_loss(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    return nn.functional.cross_entropy(model(batch[0]).float(), batch[1])


def mean_over_kept(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    """A mean over the samples that count, as over tokens that are no padding: not a mean over samples."""
    losses = nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")
    kept = batch[1] != 0
    return losses[kept].sum() / kept.sum().clamp_min(1)


def batch(step: int = 0, size: int = NUM_SAMPLES) -> tuple[Tensor, Tensor]:
    chance = torch.Generator().manual_seed(step)
    return torch.randn(size, FEATURES, generator=chance), torch.arange(size) % CLASSES


class Tight(nn.Module):
    """Runs out of memory above so many rows."""

    def __init__(self, limit: int, after: int = 0) -> None:
        super().__init__()
        self.limit, self.calls_left = limit, after
        self.seen: list[int] = []

    def forward(self, features: Tensor) -> Tensor:
        self.calls_left -= 1
        if len(features) > self.limit and self.calls_left < 0:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. (simulated)")
        self.seen.append(len(features))
        return features


def trained(model: nn.Module, steps: int, **options: object) -> tuple[RecoveringStep, list[float], Tensor]:
    step = RecoveringStep(model, torch.optim.SGD(model.parameters(), lr=0.1), mean_loss, **options)
    losses = [float(step(batch(number))) for number in range(steps)]
    return step, losses, torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_b22_b100_the_effective_batch_stays_and_no_step_is_lost() -> None:
    _, losses, weights = trained(net(), steps=6)
    tight = net(Tight(limit=4, after=2))
    step, recovered, same = trained(tight, steps=6)
    assert step.micro_batch_size == 4
    assert recovered == pytest.approx(losses, abs=1e-6)
    torch.testing.assert_close(same, weights)
    assert "out of memory with 16 samples at once; micro-batches of 8 from now on, the batch stays 16" in step.notes[0]


def test_every_sample_of_the_lost_batch_is_taken_again() -> None:
    layer = Tight(limit=5)
    step, _, _ = trained(net(layer), steps=2)
    assert step.micro_batch_size == 4
    assert layer.seen[-8:] == [4] * 8
    assert sum(layer.seen[-4:]) == NUM_SAMPLES


def test_b99_parity_is_proved_on_the_users_loss() -> None:
    parity = gradient_parity(net(), mean_loss, batch())
    assert parity.equal
    assert parity.relative_error < 1e-5
    broken = gradient_parity(net(), mean_over_kept, batch(size=7))
    assert not broken.equal
    assert "the loss is no mean over samples" in broken.text


def test_b99_batchnorm_breaks_parity_and_is_named() -> None:
    model = net(nn.BatchNorm1d(512))
    mean = model[1].running_mean.clone()
    parity = gradient_parity(model, mean_loss, batch())
    assert not parity.equal
    assert parity.without_batch_statistics < 1e-5
    assert parity.batch_statistics == ("1",)
    assert "only because 1 layers such as 1 take statistics over the micro-batch" in parity.text
    assert torch.equal(model[1].running_mean, mean)
    assert model[1].training


def test_layernorm_does_not_break_parity() -> None:
    assert gradient_parity(net(nn.LayerNorm(512)), mean_loss, batch()).equal


def test_a_failed_attempt_leaves_no_trace_in_running_statistics_or_random_numbers() -> None:
    def batches_seen(limit: int) -> int:
        layer = nn.BatchNorm1d(512)
        trained(net(layer, Tight(limit)), steps=1)
        return int(layer.num_batches_tracked)

    def last_masks(limit: int, micro_batch_size: int | None) -> list[Tensor]:
        drawn: list[Tensor] = []
        tight = Tight(limit)
        tight.register_forward_hook(lambda layer, inputs, output: drawn.append(output.detach() == 0))
        model = net(nn.Dropout(0.5), tight)
        step = RecoveringStep(model, torch.optim.SGD(model.parameters(), lr=0.1), mean_loss)
        step.micro_batch_size = micro_batch_size
        step(batch())
        return drawn[-2:]

    assert batches_seen(limit=16) == 1
    assert batches_seen(limit=8) == 2
    recovered, untroubled = last_masks(limit=8, micro_batch_size=None), last_masks(limit=16, micro_batch_size=8)
    assert all(torch.equal(one, other) for one, other in zip(recovered, untroubled, strict=True))


def test_b03_real_steps_within_a_limit_give_the_weights_of_the_whole_batch_and_leave_nothing_behind() -> None:
    def weights_within(limit_bytes: int) -> tuple[RecoveringStep, Tensor, int]:
        gpu = SimulatedGpu(simulate_vram(limit_bytes))
        model = net(Wide())
        with gpu.using():
            step = RecoveringStep(model, torch.optim.SGD(model.parameters(), lr=0.1), mean_loss, device=gpu)
            for number in range(3):
                step(batch(number, size=64))
            model.zero_grad()
        weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
        return step, weights, gpu.memory().allocated

    roomy, whole, held = weights_within(256 * MIB)
    tight, parts, held_after_recovery = weights_within(10 * MIB)
    assert held_after_recovery == held
    assert roomy.micro_batch_size is None
    assert tight.micro_batch_size in (8, 16, 32)
    torch.testing.assert_close(parts, whole)


class Wide(nn.Module):
    """64 KiB of activations for each sample, twice."""

    def forward(self, features: Tensor) -> Tensor:
        return features.repeat(1, 32).exp().clamp(max=4).view(-1, 32, 512).mean(dim=1)


def test_what_does_not_fit_in_one_sample_is_raised() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        trained(net(Tight(limit=0)), steps=1)


def test_b36_an_error_that_is_not_memory_is_raised_at_once() -> None:
    layer = Broken()
    with pytest.raises(RuntimeError, match="CUDNN_STATUS_NOT_SUPPORTED"):
        trained(net(layer), steps=1)
    assert layer.calls == 1


class Broken(nn.Module):
    calls = 0

    def forward(self, features: Tensor) -> Tensor:
        self.calls += 1
        raise RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear for a non-contiguous input.")


class Overflows(nn.Module):
    """Leaves the range of fp16, not that of bf16."""

    def forward(self, features: Tensor) -> Tensor:
        return features * 1e5 * 1e-5 if features.dtype != torch.float16 else features * 3e4 * 3e4 * 1e-9


def test_b64_b57_a_loss_beyond_fp16_names_the_layer_and_goes_on_in_bf16() -> None:
    step, losses, _ = trained(net(Overflows()), steps=3, precision="fp16")
    assert step.precision == "bf16"
    assert "1 (Overflows) turns finite inputs, at most" in step.notes[-1]
    assert "bf16 from now on" in step.notes[-1]
    assert all(loss == loss for loss in losses)


def test_a_gradient_beyond_fp16_lowers_the_loss_scale_first_and_loses_no_step() -> None:
    step, losses, _ = trained(net(SteepBackwards()), steps=2, precision="fp16")
    assert step.precision == "fp16"
    assert "the gradient overflowed fp16: loss scale lowered to 32768.0" in step.notes[0]
    assert losses[1] != losses[0]


class SteepBackwards(nn.Module):
    """Gradients a thousand times as large, values as they were."""

    def forward(self, features: Tensor) -> Tensor:
        return features.detach() + (features - features.detach()) * 1000


def test_a_loss_that_is_not_finite_in_fp32_is_raised_with_its_layer() -> None:
    model = net()
    with torch.no_grad():
        model[2].weight[0, 0] = torch.nan
    with pytest.raises(LossIsNotFinite, match=r"the weights in 2\.weight are not finite already"):
        trained(model, steps=1)


def test_the_first_layer_that_breaks_is_named() -> None:
    model = nn.Sequential(nn.Linear(4, 4), Explodes(), nn.ReLU())
    assert "1 (Explodes)" in first_not_finite(model, partial(model, torch.ones(1, 4)))
    assert first_not_finite(nn.ReLU(), partial(nn.ReLU(), torch.ones(1))) == ""


class Explodes(nn.Module):
    def forward(self, features: Tensor) -> Tensor:
        return features.abs().add(1).log().sub(1e9).exp().div(0)
