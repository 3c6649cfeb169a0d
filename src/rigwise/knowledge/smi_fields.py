"""The three spellings of what nvidia-smi tells of a GPU (`-q -x`, `-q`, `--query-gpu`): one row each in smi_fields.csv.

The spelling of `-q -x` (the path of the element below `<gpu>`) is the one every text is translated into. Clock event
reasons go by their own name, without the prefix that changed with driver 535.
"""

import csv
from functools import cache
from importlib import resources

import msgspec


class SmiField(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of nvidia-smi and its names."""

    path: str
    """In `nvidia-smi -q -x`: `fb_memory_usage/total`."""
    labels: tuple[str, ...]
    """In `nvidia-smi -q`, sections first: `FB Memory Usage/Total`."""
    columns: tuple[str, ...]
    """In `nvidia-smi --query-gpu`, all its names: `memory.total`."""


@cache
def smi_fields() -> tuple[SmiField, ...]:
    """Every fact, in the order of the table."""
    text = resources.files("rigwise.knowledge").joinpath("smi_fields.csv").read_text(encoding="utf-8")
    return tuple(_field(row) for row in csv.DictReader(text.splitlines()))


@cache
def paths_by_label() -> dict[str, str]:
    """The path of every label of `nvidia-smi -q`, the label in lower case.

    >>> paths_by_label()["pci/gpu link info/link width/current"]
    'pci/pci_gpu_link_info/link_widths/current_link_width'
    """
    return {label.lower(): field.path for field in smi_fields() for label in field.labels}


@cache
def paths_by_column() -> dict[str, str]:
    """The path of every column of `nvidia-smi --query-gpu`, the column in lower case.

    >>> paths_by_column()["memory.total"], paths_by_column()["clocks_throttle_reasons.active"]
    ('fb_memory_usage/total', 'clocks_event_reasons/active')
    """
    return {column.lower(): field.path for field in smi_fields() for column in field.columns}


def _field(row: dict[str, str]) -> SmiField:
    return SmiField(path=row["path"], labels=_names(row["query"]), columns=_names(row["csv"]))


def _names(cell: str) -> tuple[str, ...]:
    return tuple(name for name in cell.split(";") if name)
