"""Who must not be recognised in a recording, and the stand-ins that replace what identifies them."""

import getpass
import hashlib
import os
import pwd
import secrets
import socket
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from rigwise.records.identity import MASKED_UUID_END

ORDINARY_NAMES = frozenset(
    ("root", "user", "ubuntu", "debian", "linux", "kernel", "localhost", "nvidia", "gpu", "cuda", "python", "none")
)
"""User and host names that are also words of the evidence; they identify nobody and stay."""
FIRST_PERSON = 1000
NOBODY = 65534
"""User ids of people lie between these (login.defs); those outside belong to services."""


class Identity(msgspec.Struct, frozen=True):
    """Who must not be recognised, and the salt that makes pseudonyms of one recording differ from another's."""

    names: tuple[str, ...]
    """User and host names, hidden wherever they stand as a word; longest first."""
    salt: str

    def pseudonym(self, secret: str, num_characters: int) -> str:
        """A stable stand-in of hexadecimal digits (at most 64)."""
        return hashlib.sha256(f"{self.salt} {secret.lower()}".encode()).hexdigest()[:num_characters]

    def name(self, name: str) -> str:
        """The stand-in of a user or host name; one that is an ordinary word stays."""
        return name if name.lower() in ORDINARY_NAMES else f"name-{self.pseudonym(name, 4)}"

    def digits(self, number: str) -> str:
        """The stand-in of a serial number: decimal digits, as many as it has characters."""
        return str(int(self.pseudonym(number, 16), 16)).ljust(len(number), "0")[: len(number)]

    def uuid(self, start: str, rest: str) -> str:
        """The stand-in of a UUID, recognisable as one by its end.

        The first eight digits depend only on themselves: people and CUDA_VISIBLE_DEVICES shorten UUIDs to them.
        """
        first = self.pseudonym(start, 8)
        if not rest:
            return first
        digits = self.pseudonym(start + rest, 12)
        return f"{first}-{digits[:4]}-{digits[4:8]}-{digits[8:]}{MASKED_UUID_END}"

    def mac(self, address: str) -> str:
        """The stand-in of a MAC address: a locally administered one."""
        digits = self.pseudonym(address, 10)
        return ":".join(("02", *(digits[i : i + 2] for i in range(0, 10, 2))))

    def knowing(self, names: set[str]) -> "Identity":
        """The same identity with more names to hide."""
        return Identity(tuple(sorted({*self.names, *names}, key=len, reverse=True)), self.salt)


def this_identity() -> Identity:
    """The people and the host of the machine rigwise runs on, with a new salt."""
    host = socket.gethostname()
    return Identity((), secrets.token_hex(8)).knowing({host, host.partition(".")[0], *_people()} - {""})


def _people() -> Iterator[str]:
    """User names of this machine, and the full names of their owners."""
    with suppress(KeyError, OSError):  # a user id without an account, as in many containers
        yield getpass.getuser()
    yield os.environ.get("SUDO_USER", "")
    for account in pwd.getpwall():
        if FIRST_PERSON <= account.pw_uid < NOBODY:
            yield account.pw_name
            full_name = account.pw_gecos.partition(",")[0]
            yield full_name if " " in full_name else ""
