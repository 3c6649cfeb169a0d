"""Memory that ends in the optimiser's own update: no batch is to blame, and nothing half written is left."""

import gc
from collections.abc import Callable

import pytest
import torch
from simulated_gpu import SimulatedGpu
from torch import Tensor, nn
from training_lab import TINY_MODEL

from rigwise.train.batch.recognise import out_of_memory
from rigwise.train.batch.recovery import RecoveringStep
from rigwise.train.batch.update import UpdateDoesNotFit
from rigwise.train.full_trial import run_full_trial
from rigwise.train.step.vram_simulation import SimulatedVram, simulate_vram
from rigwise.units import MIB

WIDTH = 256
"""A square layer of this width is 256 KiB."""
TIGHT_BYTES = int(4.3 * MIB)
ROWS = torch.ones(2, WIDTH)


def six_layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(6)))


def stepping(vram: SimulatedVram, **options: bool) -> tuple[RecoveringStep, torch.optim.Optimizer]:
    model = six_layers()
    vram.track(model)
    optimizer = torch.optim.AdamW(model.parameters(), **options)

    def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        return model(batch[0]).square().mean()

    return RecoveringStep(model, optimizer, loss, device=SimulatedGpu(vram)), optimizer


def weights(step: RecoveringStep) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in step.model.parameters()])


def test_a_state_that_does_not_fit_says_so_with_its_bytes_and_shrinks_no_batch() -> None:
    """1.5 MiB of parameters, 1.5 of gradients, and 3 of state, of which 1.3 have room."""
    with simulate_vram(TIGHT_BYTES) as vram:
        step, optimizer = stepping(vram)
        with pytest.raises(UpdateDoesNotFit) as caught:
            step([ROWS])
    assert torch.equal(weights(step), torch.cat([each.flatten() for each in six_layers().parameters()]))
    words = str(caught.value)
    assert "the optimiser's state does not fit, whatever the batch" in words
    assert "parameters 1.50 MiB, gradients 1.50 MiB, state 1.25 MiB so far" in words
    assert "Use an 8-bit optimiser" in words
    assert out_of_memory(caught.value) is not None
    assert step.micro_batch_size is None
    assert not optimizer.state


def test_with_room_later_the_same_step_gives_the_same_weights() -> None:
    with simulate_vram(64 * MIB) as vram:
        untroubled, _ = stepping(vram)
        untroubled([ROWS])
    with simulate_vram(TIGHT_BYTES) as vram:
        step, _ = stepping(vram)
        with pytest.raises(UpdateDoesNotFit):
            step([ROWS])
        vram.limit_bytes = 64 * MIB
        step([ROWS])
    assert torch.equal(weights(step), weights(untroubled))


def test_temporary_tensors_that_do_not_fit_are_told_from_the_state() -> None:
    with simulate_vram(64 * MIB) as vram:
        step, optimizer = stepping(vram, foreach=True)
        step([ROWS])
        vram.limit_bytes = vram.allocated_bytes + MIB
        words = r"parameters 1.50 MiB, gradients 1.50 MiB, state 3.00 MiB, then temporary tensors .* foreach=False"
        with pytest.raises(UpdateDoesNotFit, match=words):
            step([ROWS])
        assert len(optimizer.state) == 6
        for group in optimizer.param_groups:
            group["foreach"] = False
        gc.collect()  # the exception's frames hold the temporary tensors
        step([ROWS])


def test_another_fault_in_the_update_is_raised_as_it_is() -> None:
    with simulate_vram(64 * MIB) as vram:
        step, optimizer = stepping(vram)
        optimizer.param_groups[0]["betas"] = None
        with pytest.raises(TypeError):
            step([ROWS])


def test_a_trial_ends_at_once_with_the_reason(make_lab: Callable[..., object]) -> None:
    model_bytes = 400_000
    gpu = SimulatedGpu(simulate_vram(int(3.5 * model_bytes)))
    lab = make_lab(device=gpu, model=TINY_MODEL)
    rows, trained = run_full_trial(lab, "cuda fp32", "fp32", 2)
    assert trained is None
    assert len(rows) == 1
    assert "the optimiser's state does not fit, whatever the batch" in rows[0].not_run
