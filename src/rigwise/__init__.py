"""rigwise makes an NVIDIA machine for AI one you can trust."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

LIBRARY = {
    "Checkpoints": "train.checkpoint.checkpoints",
    "Effort": "train.batch.search",
    "Lever": "train.ceilings.lever",
    "Loop": "train.ceilings.loop",
    "Flops": "train.ceilings.measure",
    "RecoveringStep": "train.batch.recovery",
    "SampleOrder": "train.checkpoint.sample_order",
    "Sampling": "train.ceilings.pace",
    "Stateful": "train.checkpoint.parts",
    "TorchTraining": "train.batch.training",
    "ceilings": "train.ceilings.measure",
    "find_batch": "train.batch.find",
    "find_lr": "train.knobs.find_lr",
    "gradient_parity": "train.batch.parity",
    "out_of_memory": "train.batch.recognise",
    "part": "train.ceilings.parts",
    "predictor": "train.predict.predictor",
    "prove_all_reduce": "train.all_reduce",
    "read_memory_snapshot": "train.memory_snapshot",
    "worst_first": "train.batch.training",
}
"""What people's own programs take from here, and its module: imported when asked for, for it imports torch."""


def __getattr__(name: str) -> Any:
    if name not in LIBRARY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"rigwise.{LIBRARY[name]}"), name)
