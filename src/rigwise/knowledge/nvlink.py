"""How many NVLinks a GPU has, wired on its board or joined by a bridge: one row each in nvlink.csv."""

import csv
import re
from functools import cache
from importlib import resources
from typing import Literal

import msgspec


class NvLinkModel(msgspec.Struct, frozen=True, kw_only=True):
    """The NVLinks of one kind of GPU."""

    pattern: str
    """Regular expression for whole words of the name as NVML gives it; the first row that fits counts."""
    links: int
    gb_per_second: float
    """Of one link in one direction, 10^9 bytes per second, as `nvidia-smi nvlink -s` shows it."""
    fitted: Literal["board", "bridge"]
    """`board`: wired, so that each link must be active. `bridge`: idle without one, and some are with too few."""
    source: str
    checked_on: str


@cache
def nvlink_models() -> tuple[NvLinkModel, ...]:
    """Every row, in order."""
    text = resources.files("rigwise.knowledge").joinpath("nvlink.csv").read_text(encoding="utf-8")
    return tuple(msgspec.convert(row, NvLinkModel, strict=False) for row in csv.DictReader(text.splitlines()))


def find_nvlink(name: str) -> NvLinkModel | None:
    """The NVLinks of the GPU that NVML calls `name`, None for one that has none or is not in the table.

    >>> find_nvlink("NVIDIA H200 NVL").fitted, find_nvlink("NVIDIA GB200").links, find_nvlink("NVIDIA L40S")
    ('bridge', 18, None)
    """
    return next((model for model in nvlink_models() if re.search(rf"\b(?:{model.pattern})\b", name)), None)
