"""Simulated VRAM against sums worked out by hand from tensor shapes."""

import gc
import re
import time

import pytest
import torch
from torch import nn

from rigwise.train.step.vram_simulation import simulate_vram

MIB = 2**20
FLOAT_BYTES = 4
BATCH, CHANNELS, SIZE, CLASSES = 8, 16, 32, 5
FEATURES = CHANNELS * SIZE * SIZE


def block(num_bytes: int) -> int:
    return (num_bytes + 511) // 512 * 512


def small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, CHANNELS, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(FEATURES, CLASSES))


def parameter_bytes(model: nn.Module) -> int:
    return sum(block(FLOAT_BYTES * parameter.numel()) for parameter in model.parameters())


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rand(BATCH, 3, SIZE, SIZE), torch.arange(BATCH) % CLASSES


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, images: torch.Tensor, labels: torch.Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()


def test_tracking_a_model_counts_each_parameter_once_in_blocks() -> None:
    model = small_net()
    with simulate_vram(64 * MIB) as vram:
        vram.track(model)
        vram.track(model)
    assert vram.allocated_bytes == parameter_bytes(model)


def test_forward_peak_is_the_hand_count() -> None:
    model = small_net()
    images, labels = batch()
    activation = FLOAT_BYTES * BATCH * FEATURES
    by_hand = parameter_bytes(model) + FLOAT_BYTES * images.numel() + 2 * activation  # conv and ReLU both live here
    with simulate_vram(64 * MIB) as vram:
        vram.track(model)
        loss = nn.functional.cross_entropy(model(images), labels)
    assert loss.requires_grad
    assert vram.peak_allocated_bytes == pytest.approx(by_hand, rel=0.03)


def test_step_peak_is_the_hand_count() -> None:
    """Second Adam step, at its fullest: parameters, two moments, images, conv output kept, and two gradients of it."""
    model = small_net()
    images, labels = batch()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    with simulate_vram(64 * MIB) as vram:
        train_step(model, optimizer, images, labels)
        held_between_steps = vram.allocated_bytes
        optimizer.zero_grad(set_to_none=True)
        without_gradients = vram.allocated_bytes
        vram.reset_peak()
        nn.functional.cross_entropy(model(images), labels).backward()
    parameters, activation = parameter_bytes(model), FLOAT_BYTES * BATCH * FEATURES
    inputs = block(FLOAT_BYTES * images.numel()) + block(8 * labels.numel())
    step_counters = 4 * 512
    assert without_gradients == 3 * parameters + inputs + step_counters
    assert held_between_steps == 4 * parameters + inputs + step_counters
    linear_gradient = block(FLOAT_BYTES * FEATURES * CLASSES)
    by_hand = without_gradients + 3 * activation + linear_gradient  # ReLU output, its gradient, the conv's gradient
    assert vram.peak_allocated_bytes == pytest.approx(by_hand, rel=0.03)


def test_views_are_not_counted_twice() -> None:
    with simulate_vram(MIB) as vram:
        whole = torch.zeros(1000)
        views = [whole.view(10, 100), whole[3:7], whole.detach(), whole.reshape(100, 10).t()]
    assert len(views) == 4
    assert vram.allocated_bytes == block(4000)


def test_memory_falls_when_the_last_view_goes() -> None:
    with simulate_vram(MIB) as vram:
        whole = torch.zeros(1000)
        view = whole[:10]
        del whole
        assert vram.allocated_bytes == block(4000)
        del view
        assert vram.allocated_bytes == 0
        assert vram.peak_allocated_bytes == block(4000)


def test_a_storage_that_grows_is_counted_at_its_new_size() -> None:
    with simulate_vram(MIB) as vram:
        grown = torch.zeros(10)
        grown.resize_(1000)
        assert vram.allocated_bytes == block(4000)
        del grown
    assert vram.allocated_bytes == 0


def test_the_limit_itself_still_fits() -> None:
    with simulate_vram(MIB):
        assert torch.zeros(MIB, dtype=torch.uint8).numel() == MIB


def test_more_than_the_limit_raises_torchs_own_error_with_its_numbers() -> None:
    with simulate_vram(4 * MIB) as vram:
        kept = torch.zeros(2 * MIB, dtype=torch.uint8)
        with pytest.raises(torch.OutOfMemoryError) as caught:
            torch.zeros(3 * MIB, dtype=torch.uint8)
        assert vram.allocated_bytes == kept.numel()
    message = str(caught.value)
    assert message.startswith("CUDA out of memory. Tried to allocate 3.00 MiB.")
    form = (
        r"total capacity of (.+?) of which (.+?) is free.* allocated memory (.+?) is allocated .* and (.+?) is reserved"
    )
    numbers = re.search(form, message)
    assert numbers is not None
    assert numbers.groups() == ("4.00 MiB", "2.00 MiB", "2.00 MiB", "0 bytes")


def test_backward_can_run_out_and_everything_is_freed() -> None:
    """Forward fits to the byte, so the first gradient does not; then the same memory serves a smaller batch."""
    model = small_net()
    images, labels = batch()
    with simulate_vram(64 * MIB) as measured:
        measured.track(model)
        nn.functional.cross_entropy(model(images), labels)
    with simulate_vram(measured.peak_allocated_bytes) as vram:
        vram.track(model)
        loss = nn.functional.cross_entropy(model(images), labels)
        with pytest.raises(torch.OutOfMemoryError):
            loss.backward()
        del loss
        model.zero_grad()
        gc.collect()
        held = block(FLOAT_BYTES * images.numel()) + block(8 * labels.numel())
        assert vram.allocated_bytes == parameter_bytes(model) + held
        nn.functional.cross_entropy(model(images[:2]), labels[:2]).backward()


def test_the_largest_batch_that_fits_is_the_one_worked_out_by_hand() -> None:
    model = small_net()
    room_for = 5
    per_image = FLOAT_BYTES * (3 * SIZE * SIZE + 2 * FEATURES)
    fitting = []
    with simulate_vram(parameter_bytes(model) + room_for * per_image) as vram, torch.no_grad():
        vram.track(model)
        for num_images in range(1, 10):
            try:
                model(torch.zeros(num_images, 3, SIZE, SIZE))
            except torch.OutOfMemoryError:
                continue
            fitting.append(num_images)
    assert fitting == [1, 2, 3, 4, 5]


def test_results_are_unchanged() -> None:
    images, labels = batch()
    weights = []
    for limit in (None, 64 * MIB):
        model = small_net()
        optimizer = torch.optim.AdamW(model.parameters())
        if limit is None:
            train_step(model, optimizer, images, labels)
        else:
            with simulate_vram(limit):
                train_step(model, optimizer, images, labels)
        weights.append(torch.cat([parameter.flatten() for parameter in model.parameters()]))
    assert torch.equal(*weights)


def test_it_costs_less_than_a_millisecond_per_ten_operations() -> None:
    values = torch.ones(4)
    with simulate_vram(MIB):
        began = time.thread_time()
        for _ in range(1000):
            values = values + 1
        seconds = time.thread_time() - began
    assert seconds / 1000 < 1e-4
