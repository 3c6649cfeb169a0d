import pytest
import torch
from training_lab import easy_pictures, make_lab

__all__ = ["easy_pictures", "make_lab"]


@pytest.fixture(autouse=True)
def _card() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU on this machine")
