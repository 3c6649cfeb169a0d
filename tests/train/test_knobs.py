"""The knobs of a trial: refused combinations, and that each does what it says and nothing else."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import pytest
import timm
import torch
from knob_trials import batches, begun, plan, small_network, trained
from torch import Tensor, nn

from rigwise.errors import BadInput
from rigwise.train.checkpoint.parts import put_back, states_of
from rigwise.train.experiment import run_experiment
from rigwise.train.knobs.averaging import WeightAverage
from rigwise.train.knobs.checkpointing import blocks, checkpoint_activations
from rigwise.train.knobs.early_stop import EarlyStop
from rigwise.train.knobs.section import KnobsSection
from rigwise.train.picture_lab import PictureLab
from rigwise.train.recipe import parse_recipe, write_recipe
from rigwise.train.recipe_sections import Recipe
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.picture_loss import mean_loss
from rigwise.train.step.scoring import Scores

MakeLab = Callable[..., PictureLab]


def same(first: nn.Module, second: nn.Module) -> bool:
    states = [model.state_dict() for model in (first, second)]
    return states[0].keys() == states[1].keys() and all(
        torch.equal(states[0][name], states[1][name]) for name in states[0]
    )


# The recipe


def test_no_knob_is_on_by_default_and_all_are_written_back() -> None:
    assert Recipe().knobs == KnobsSection()
    assert 'optimizer = "adamw"' in write_recipe(Recipe())
    asked = parse_recipe("[knobs]\noptimizer = 'sgd'\nema_decay = 0.99\ncheckpointing = true\n", name="mine")
    assert parse_recipe(write_recipe(asked), name="written") == asked


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("optimizer_in_backward = true\nprecision = 'fp16'", "the loss scale must see every gradient"),
        ("optimizer_in_backward = true\naccumulation_steps = 2", "cannot be added to"),
        ("optimizer_in_backward = true\nclip_norm = 1.0", "known only after the last parameter"),
        ("checkpointing = true\ncompile = true", "leave one out"),
        ("patience = 4", "patience = 4: of 4 validations"),
        ("accumulation_steps = 32", "a batch of 32 would be taken 1 at a time"),
        ("optimizer = 'lion'", "knobs.optimizer"),
        ("ema_decay = nan", "ema_decay"),
        ("label_smoothing = 1", "label_smoothing"),
    ],
)
def test_what_does_not_go_together_is_refused_at_once(lines: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_recipe(f"[knobs]\n{lines}\n", name="mine.toml")
    assert words in caught.value.why


def test_every_contradiction_is_named_in_one_error() -> None:
    lines = "optimizer_in_backward = true\nprecision = 'fp16'\naccumulation_steps = 2\nclip_norm = 1.0\n"
    with pytest.raises(BadInput) as caught:
        parse_recipe(f"[knobs]\n{lines}", name="mine.toml")
    assert len(caught.value.why.splitlines()) == 3


# The update


@pytest.mark.parametrize("optimizer", ["adamw", "adamw_fused", "adafactor", "sgd"])
def test_in_backward_every_update_is_the_same_and_no_gradient_is_left(optimizer: str) -> None:
    after = begun(small_network(), plan(optimizer=optimizer))
    within = begun(small_network(), plan(optimizer=optimizer, optimizer_in_backward=True))
    assert trained(after) == trained(within)
    assert same(after.model, within.model)
    assert all(parameter.grad is None for parameter in within.model.parameters())
    assert after.schedule.get_last_lr() == within.schedule.get_last_lr()


@pytest.mark.parametrize(
    "knobs", [{"optimizer_in_backward": True}, {"ema_decay": 0.5}, {"checkpointing": True}], ids=str
)
def test_a_trial_goes_on_from_what_a_checkpoint_keeps(knobs: dict[str, Any]) -> None:
    first, resumed, whole = (begun(small_network(), plan(**knobs)) for _ in range(3))
    trained(first, 2)
    put_back(states_of(first.parts), resumed.parts)
    for batch in batches(4)[2:]:
        resumed.take_step(batch)
        resumed.stepped()
    trained(whole, 4)
    assert same(resumed.model, whole.model)
    if whole.average is not None:
        assert resumed.average is not None
        assert same(resumed.average, whole.average)


def test_in_backward_only_one_gradient_lives_at_a_time() -> None:
    model = small_network()
    begun(model, plan(optimizer_in_backward=True))
    alive: list[int] = []
    for parameter in model.parameters():
        parameter.register_hook(lambda _: alive.append(sum(each.grad is not None for each in model.parameters())))
    nn.functional.cross_entropy(model(batches(1)[0][0].float()), batches(1)[0][1]).backward()
    assert max(alive) <= 1


def test_a_shared_weight_is_updated_once_in_backward() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(11, 4)
            self.answer = nn.Linear(4, 11, bias=False)
            self.answer.weight = self.words.weight

        def forward(self, tokens: Tensor) -> Tensor:
            return self.answer(self.words(tokens))

    def loss(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
        return nn.functional.cross_entropy(model(batch[1]), batch[1])

    states = []
    for within in (False, True):
        torch.manual_seed(1)
        states.append(begun(Tied(), plan(optimizer_in_backward=within), loss))
    assert trained(states[0]) == trained(states[1])


def test_out_of_memory_in_the_midst_of_updates_is_not_taken_again() -> None:
    calls: list[int] = []

    def loss(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
        calls.append(len(batch[0]))
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    with pytest.raises(torch.OutOfMemoryError):
        begun(small_network(), plan(optimizer_in_backward=True), loss).take_step(batches(1)[0])
    assert calls == [8]


def test_without_its_library_the_8_bit_optimiser_names_the_command() -> None:
    try:
        import bitsandbytes  # noqa: F401
    except ImportError:
        with pytest.raises(BadInput, match="bitsandbytes") as caught:
            begun(small_network(), plan(optimizer="adamw8bit"))
        assert "pip install" in caught.value.next_step
    else:
        pytest.skip("bitsandbytes is installed here")


@pytest.mark.filterwarnings("ignore")  # of the library
def test_the_8_bit_optimiser_learns_and_holds_bytes() -> None:
    pytest.importorskip("bitsandbytes")
    model = nn.Sequential(nn.Flatten(), nn.Linear(768, 64), nn.Linear(64, 3))
    state = begun(model, plan(optimizer="adamw8bit", optimizer_in_backward=True))
    losses = [state.take_step(batches(1)[0]).item() for _ in range(6)]
    assert losses[-1] < losses[0]
    large = state.optimizer.state[model[1].weight]
    assert large["state1"].dtype == torch.uint8


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_long_gradient_is_shortened_before_the_update(precision: str) -> None:
    lengths: list[float] = []
    state = begun(small_network(), plan(precision, optimizer="sgd", clip_norm=1e-3))
    state.optimizer.register_step_pre_hook(
        lambda *_: lengths.append(torch.cat([p.grad.flatten() for p in state.model.parameters()]).norm().item())
    )
    trained(state, 2)
    assert lengths == pytest.approx([1e-3, 1e-3], rel=1e-3)


# Accumulation (cases B99, B100)


def without_batch_statistics() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Flatten(), nn.Linear(768, 16), nn.ReLU(), nn.Linear(16, 3))


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_b99_b100_micro_batches_give_the_step_of_the_whole_batch(steps: int) -> None:
    whole, parts = (begun(without_batch_statistics(), plan(accumulation_steps=count)) for count in (1, steps))
    seen: list[int] = []
    parts.model.register_forward_pre_hook(lambda _, given: seen.append(len(given[0])))
    assert trained(whole) == pytest.approx(trained(parts), rel=1e-5)
    assert sum(seen) == 4 * 8
    assert max(seen) == -(-8 // steps)


# Activation checkpointing


def resnet() -> nn.Module:
    torch.manual_seed(3)
    return timm.create_model("resnet18", num_classes=3, drop_path_rate=0.2, drop_rate=0.3)


@pytest.mark.parametrize("make", [resnet, partial(small_network, dropout=0.5)], ids=["timm", "blocks"])
def test_computed_again_everything_is_the_same_to_the_bit(make: Callable[[], nn.Module]) -> None:
    kept, again = (begun(make(), plan(checkpointing=on)) for on in (False, True))
    calls: list[object] = []
    for layer in again.model.modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_pre_hook(lambda *given: calls.append(given))
    losses = []
    for state in (kept, again):
        torch.manual_seed(7)  # dropout draws from here on
        losses.append(trained(state, 2))
    assert losses[0] == losses[1]
    assert len(calls) > 2 * sum(isinstance(layer, nn.Conv2d) for layer in again.model.modules())
    assert same(kept.model, again.model), "weights, running statistics and their counters"
    gradients = [[p.grad for p in state.model.parameters()] for state in (kept, again)]
    assert all(torch.equal(*pair) for pair in zip(*gradients, strict=True))


def test_the_average_of_a_checkpointed_model_is_its_own() -> None:
    state = begun(small_network(), plan(checkpointing=True, ema_decay=0.5))
    trained(state, 2)
    assert state.average is not None
    twin = state.average.module.requires_grad_(True)
    before = {name: value.clone() for name, value in state.model.state_dict().items()}
    twin.train()
    twin(batches(1)[0][0].float()).sum().backward()
    assert all(torch.equal(value, before[name]) for name, value in state.model.state_dict().items())


def test_blocks_are_found_in_sequences_of_sequences() -> None:
    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, 4, 3)
            self.stages = nn.ModuleList([nn.Sequential(small_network(), small_network()) for _ in range(2)])

    assert [type(block) for block in blocks(Network())] == [nn.Sequential] * len(list(blocks(Network())))
    assert len(list(blocks(Network()))) >= 4


def test_a_model_without_blocks_is_refused() -> None:
    with pytest.raises(BadInput, match="does not fit Linear"):
        checkpoint_activations(nn.Linear(2, 2))


# The model


def test_a_frozen_backbone_changes_in_nothing() -> None:
    model = timm.create_model("resnet18", num_classes=3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = begun(model, plan(freeze_backbone=True))
    losses = trained(state, 3)
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"fc.weight", "fc.bias"}
    assert len(set(losses)) == 3
    assert len(state.optimizer.param_groups[0]["params"]) == 2


def test_a_model_without_a_classifier_is_refused() -> None:
    with pytest.raises(BadInput, match="freeze_backbone does not fit"):
        begun(nn.Sequential(nn.Conv2d(3, 3, 1)), plan(freeze_backbone=True))


def test_channels_last_gives_the_same_losses() -> None:
    plain, last = (begun(small_network(), plan(channels_last=on)) for on in (False, True))
    seen: list[bool] = []
    conv = next(layer for layer in last.model.modules() if isinstance(layer, nn.Conv2d))
    conv.register_forward_pre_hook(
        lambda _, given: seen.append(given[0].is_contiguous(memory_format=torch.channels_last))
    )
    assert trained(plain) == pytest.approx(trained(last), rel=1e-4)
    assert all(seen)


def test_label_smoothing_by_hand() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0]])

    class Answer(nn.Module):
        def forward(self, pictures: Tensor) -> Tensor:
            return logits

    batch = (torch.zeros(1, 3, 2, 2, dtype=torch.uint8), torch.tensor([0]))
    loss = mean_loss(Normalise([0.5] * 3, [0.5] * 3), CpuDevice(), Answer(), batch, label_smoothing=0.3)
    expected = -(torch.tensor([[0.8, 0.1, 0.1]]) * logits.log_softmax(1)).sum()
    torch.testing.assert_close(loss, expected)


# The average


def test_the_decay_of_the_average_warms_up_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    average = WeightAverage(model, decay=0.5)
    expected = 0.0
    for count, value in enumerate((4.0, 8.0, 2.0, 6.0)):
        with torch.no_grad():
            model.weight.fill_(value)
        average.update_parameters(model)
        keep = 0.0 if count == 0 else min(0.5, (1 + count) / (10 + count))
        expected = keep * expected + (1 - keep) * value
        assert average.module.weight.item() == pytest.approx(expected)


def test_the_average_is_validated_and_kept(make_lab: MakeLab) -> None:
    plain, averaged = (lab_with(make_lab, ema_decay=decay, precision="fp32") for decay in (0.0, 0.9))
    without, with_average = (run_experiment(lab).trained["cpu fp32"] for lab in (plain, averaged))
    assert [step.loss for step in without.steps] == [step.loss for step in with_average.steps]
    assert any(not torch.equal(without.weights[name], with_average.weights[name]) for name in without.weights)
    assert "averaged weights, decay 0.9" in with_average.result.note
    assert without.result.note == ""


# Early stop


def scores(loss: float) -> Scores:
    one = torch.tensor([0])
    return Scores(labels=one, probabilities=torch.tensor([[1.0]]), losses=torch.tensor([loss]))


def test_a_trial_ends_after_validations_without_a_gain() -> None:
    state = begun(small_network(), plan(validations=8, patience=2))
    watcher = EarlyStop(patience=2, min_delta=0.1)
    went_on = []
    for step, loss in enumerate((1.0, 0.5, 0.45, 0.6, 0.1), start=1):
        state.step, state.scores = step, scores(loss)
        went_on.append(watcher.goes_on(state))
    assert went_on == [True, True, True, False, True]
    assert state.remarks == ["ended after 4 of 8 steps, 4 saved: 2 validations in a row brought no gain"]


def test_an_early_stop_counts_on_after_a_resumption() -> None:
    before, after = (begun(small_network(), plan(validations=8, patience=2)) for _ in range(2))
    stops = [EarlyStop(patience=2, min_delta=0.0) for _ in range(2)]
    for state, stop in zip((before, after), stops, strict=True):
        stop.began(state)
    for before.step, loss in ((1, 0.5), (2, 0.6)):
        before.scores = scores(loss)
        assert stops[0].goes_on(before)
    put_back(states_of(before.parts), after.parts)
    after.step, after.scores = 3, scores(0.7)
    assert not stops[1].goes_on(after)


def test_the_row_says_how_many_steps_were_saved(make_lab: MakeLab) -> None:
    lab = lab_with(make_lab, validations=6, patience=1, min_delta=1e6, precision="fp32")
    (row,) = (row for row in run_experiment(lab).rows if row.name == "cpu fp32")
    assert row.steps == 2
    assert "ended after 2 of 6 steps, 4 saved" in row.note


# In the experiment


def lab_with(make_lab: MakeLab, **knobs: Any) -> PictureLab:
    lab = make_lab()
    return msgspec.structs.replace(lab, recipe=msgspec.structs.replace(lab.recipe, knobs=KnobsSection(**knobs)))


def test_the_recipe_says_which_precision_stands_beside_fp32(make_lab: MakeLab) -> None:
    assert lab_with(make_lab).precisions == ("fp32", "bf16")
    assert lab_with(make_lab, precision="fp32").precisions == ("fp32",)
    assert lab_with(make_lab, precision="fp16").precisions == ("fp32", "fp16")


def test_several_knobs_together_train(make_lab: MakeLab) -> None:
    lab = lab_with(
        make_lab,
        optimizer="adamw_fused",
        checkpointing=True,
        accumulation_steps=2,
        channels_last=True,
        ema_decay=0.99,
        label_smoothing=0.1,
        clip_norm=1.0,
    )
    rows = {row.name: row for row in run_experiment(lab).rows}
    assert rows["cpu fp32"].steps == rows["cpu bf16"].steps == 6
