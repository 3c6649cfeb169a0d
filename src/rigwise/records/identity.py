"""What a machine is, apart from how it does now: the facts to lock, and to compare two machines or two days."""

import msgspec

MASKED_UUID_END = "-000000000000"
"""How the UUID of a GPU ends in a masked recording; no two recordings share the rest of it."""

Fact = str | int | float | bool | None
"""A value as JSON holds it; None where the evidence does not tell."""


class RigIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The stack of a machine in facts that stay the same until somebody changes them."""

    facts: dict[str, Fact]
    """By stable key: `driver`, `cuda`, `kernel`, `os`, `bios` ..."""
    gpus: tuple[dict[str, Fact], ...]
    """For each GPU, by stable key: `uuid`, `name`, `vbios` ..."""
    packages: dict[str, str]
    """Versions of the frameworks and packages of the user's Python that matter to CUDA."""
    driver_packages: dict[str, str] = {}
    """Versions of the driver's packages in the system's package manager."""
    environment: dict[str, str] = {}
    """Variables of the environment that matter to CUDA."""
