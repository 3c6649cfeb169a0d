"""How each kind of evidence is told in a pasted text: the tables of evidence_kinds, validated once."""

import re
import tomllib
from functools import cache
from importlib import resources

import msgspec

KERNEL_LOG = "kernel log"


class Kind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of evidence; evidence_kinds/README.md explains the fields. Patterns are alternatives."""

    key: str
    command: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    goes_on: tuple[str, ...] = ()
    blanks: int = 0
    resumes: tuple[str, ...] = ()
    hinted: tuple[str, ...] = ()
    with_command: str = ""
    sample: str

    def __post_init__(self) -> None:
        for pattern in (*self.command, *self.starts, *self.goes_on, *self.resumes, *self.hinted, self.with_command):
            if re.compile(pattern).groups:
                raise ValueError(f"knowledge/evidence_kinds: {self.key} has a capturing group: {pattern}")

    @property
    def is_file(self) -> bool:
        """Whether it answers for a file, not for a command."""
        return self.key.startswith("/")


@cache
def kinds_of_evidence() -> tuple[Kind, ...]:
    """Every kind, in the order in which they are tried.

    Raises:
        ValueError: a table itself is wrong.
    """
    tables = resources.files("rigwise.knowledge").joinpath("evidence_kinds")
    return tuple(
        msgspec.convert({"key": name} | row, Kind)
        for table in sorted(tables.iterdir(), key=lambda file: file.name)
        if table.name.endswith(".toml")
        for name, row in tomllib.loads(table.read_text(encoding="utf-8")).items()
    )
