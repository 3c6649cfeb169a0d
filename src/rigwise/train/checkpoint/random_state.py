"""The state of every random generator a training step draws from: Python's, NumPy's and PyTorch's on each device."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def random_state() -> dict[str, Any]:
    """What `set_random_state` takes, of plain values and tensors only; the long lists as tensors, which read faster."""
    version, words, gauss = random.getstate()
    name, keys, *position = np.random.get_state()
    return {
        "python": (version, torch.tensor(words), gauss),
        "numpy": (name, torch.from_numpy(np.array(keys, dtype=np.int64)), *position),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
    }


def set_random_state(state: Mapping[str, Any]) -> None:
    """Every generator draws what it would have drawn then; GPUs beyond those of this machine are left out."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words.tolist()), gauss))
    name, keys, *position = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *position))
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"][: torch.cuda.device_count()])


@contextmanager
def same_random_state() -> Iterator[None]:
    """Afterwards every generator is as it was before."""
    state = random_state()
    try:
        yield
    finally:
        set_random_state(state)
