"""What a checkpoint costs beside a bare `torch.save`, on the default model with AdamW.

The two alternate; medians, of wall time.

    python benchmarks/checkpoints.py
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import timm
import torch

import rigwise
from rigwise.train.checkpoint.checkpoint_file import checkpoint_files, read_checkpoint

ROUNDS = 15
CALLS = 100_000


def main() -> None:
    torch.set_num_threads(1)
    model = timm.create_model("tf_efficientnet_lite0")
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(2, 3, 64, 64)).sum().backward()
    optimizer.step()
    taken: dict[str, list[float]] = {"torch.save": [], "save": [], "read back": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder, bare = Path(scratch) / "checkpoints", Path(scratch) / "bare.pt"
        checkpoints = rigwise.Checkpoints(folder)
        parts = {"model": model, "optimizer": optimizer}
        for step in range(1, ROUNDS + 1):
            states = {name: part.state_dict() for name, part in parts.items()}
            taken["torch.save"].append(seconds(lambda states=states: torch.save(states, bare)))
            taken["save"].append(seconds(lambda step=step: checkpoints.save(step=step, batch_size=32, **parts)))
            taken["read back"].append(seconds(lambda: read_checkpoint(checkpoint_files(folder)[0])))
        asked = seconds(lambda: [checkpoints.due(step) for step in range(ROUNDS, ROUNDS + CALLS)])
    bare_seconds = statistics.median(taken["torch.save"])
    print(f"{checkpoints.size_bytes / 2**20:.1f} MiB")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:<12} {median:.3f} s  {median / bare_seconds:.2f} x torch.save")
    print(f"due()        {asked / CALLS * 1e6:.2f} us a step")


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
