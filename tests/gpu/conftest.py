import pytest
import torch


@pytest.fixture(autouse=True)
def _card() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU on this machine")
