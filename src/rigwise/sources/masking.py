"""Replaces what identifies a person or a machine by pseudonyms, so that a recording can be shown to strangers.

Equal things get equal pseudonyms within one recording, so that what belongs together still does; another recording
gets others. Shapes stay, and numbers that probes read are never touched.
"""

import getpass
import hashlib
import ipaddress
import re
import secrets
import socket
from contextlib import suppress
from functools import partial

import msgspec

HIDDEN = "(hidden)"
_ORDINARY_NAMES = frozenset(
    ("root", "user", "ubuntu", "debian", "linux", "kernel", "localhost", "nvidia", "gpu", "cuda", "python")
)
"""User and host names that are also words of the evidence; as bare words they stay."""


class Identity(msgspec.Struct, frozen=True):
    """Who must not be recognised, and the salt that makes pseudonyms of one recording differ from another's."""

    names: tuple[str, ...]
    """User and host names, hidden wherever they stand as a word."""
    salt: str

    def pseudonym(self, secret: str, num_characters: int) -> str:
        """A stable stand-in of hexadecimal digits (at most 64)."""
        return hashlib.sha256(f"{self.salt} {secret.lower()}".encode()).hexdigest()[:num_characters]


def this_identity() -> Identity:
    """The user and host rigwise runs as and on, with a new salt."""
    host = socket.gethostname()
    names = {host, host.partition(".")[0]}
    with suppress(KeyError, OSError):  # a user id without an account, as in many containers
        names.add(getpass.getuser())
    return Identity(tuple(sorted(names, key=len, reverse=True)), secrets.token_hex(8))


def mask(text: str, identity: Identity) -> str:
    """`text` without secrets, names, serial numbers, UUIDs and addresses.

    >>> mask("Serial Number : 1650124014249 at 10.0.4.7, driver 12.570.124.06", Identity((), "salt"))
    'Serial Number : 1298026979900 at 198.18.47.172, driver 12.570.124.06'
    """
    for pattern, replace in _RULES:
        text = pattern.sub(partial(replace, identity), text)
    for name in identity.names:
        if len(name) > 2 and not name.isdigit() and name.lower() not in _ORDINARY_NAMES:
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", _named(name, identity), text)
    return text


def _named(name: str, identity: Identity) -> str:
    return f"name-{identity.pseudonym(name, 4)}"


def _secret(_identity: Identity, match: re.Match[str]) -> str:
    return match["before"] + HIDDEN


def _home(identity: Identity, match: re.Match[str]) -> str:
    return match["before"] + _named(match["name"], identity)


def _account(identity: Identity, match: re.Match[str]) -> str:
    """A line of /etc/passwd: the pseudonym of its home folder, and no real name; system accounts stay."""
    if not 1000 <= int(match["uid"]) < 65534 or match["name"].lower() in _ORDINARY_NAMES:
        return match[0]
    return f"{_named(match['name'], identity)}:{match['middle']}::{match['rest']}"


def _uuid(identity: Identity, match: re.Match[str]) -> str:
    """The first eight digits depend only on themselves: people and CUDA_VISIBLE_DEVICES shorten UUIDs to them."""
    start = identity.pseudonym(match["start"], 8)
    if not match["rest"]:
        return match["before"] + start
    digits = identity.pseudonym(match["start"] + match["rest"], 24)
    return match["before"] + "-".join((start, digits[:4], digits[4:8], digits[8:12], digits[12:]))


def _serial(identity: Identity, match: re.Match[str]) -> str:
    serial = match["serial"]
    if not any(character.isdigit() for character in serial):  # N/A, [N/A], None
        return match[0]
    digits = str(int(identity.pseudonym(serial, 16), 16))
    return match["before"] + digits.ljust(len(serial), "0")[: len(serial)]


def _mac(identity: Identity, match: re.Match[str]) -> str:
    digits = identity.pseudonym(match[0], 10)
    return ":".join(("02", *(digits[i : i + 2] for i in range(0, 10, 2))))


def _address(identity: Identity, match: re.Match[str]) -> str:
    """An IP address becomes one of a range reserved for tests; a version number is none, or not valid as one."""
    try:
        address = ipaddress.ip_address(match[0])
    except ValueError:
        return match[0]
    if address.is_loopback or address.is_unspecified:
        return match[0]
    digits = identity.pseudonym(match[0], 8)
    if address.version == 4:
        return f"198.18.{int(digits[:2], 16)}.{int(digits[2:4], 16)}"
    return f"2001:db8::{digits[:4]}:{digits[4:]}"


_HEX = "[0-9a-fA-F]"
_SECRET_NAME = r"[\w-]*(?:token(?!s)|secret|passw(?:or)?d|credentials?|_key|apikey)[\w-]*"
_RULES = tuple(
    (re.compile(pattern), replace)
    for pattern, replace in (
        (rf"(?i)(?P<before>\b{_SECRET_NAME}[\"']?\s*[=:]\s*[\"']?)[^\s\"',;]+", _secret),
        (r"(?i)(?P<before>\bbearer\s+)[\w.~+/=-]{8,}", _secret),
        (r"(?P<before>)\b(?:hf_|gh[opsu]_|github_pat_|sk-|AKIA|xox[abp]-|eyJ)[\w.-]{12,}", _secret),
        (r"(?P<before>://)[^\s/@:]+:[^\s/@]+(?=@)", _secret),
        (r"(?P<before>)[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b", _secret),
        (r"(?m)^(?P<name>[^\s:]+):(?P<middle>[^:\n]*:(?P<uid>\d+):\d+):[^:\n]*:(?P<rest>/[^:\n]*:.*)$", _account),
        (r"(?P<before>/home/|/Users/|\\Users\\)(?P<name>[^/\\\s\"':;,<]+)", _home),
        (rf"(?P<before>\b(?:GPU|MIG)-)(?P<start>{_HEX}{{8}})(?P<rest>(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}})?\b", _uuid),
        (r"(?i)(?P<before>\bserial(?: ?number| no\.?)?\s*[:=]\s*)(?P<serial>[\w-]+)", _serial),
        (r"(?i)(?P<before><\w*serial\w*>)(?P<serial>[^<]+)", _serial),
        (rf"\b{_HEX}{{2}}(?::{_HEX}{{2}}){{5}}\b", _mac),
        (r"(?<![\w.-])(?<!==)\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)", _address),
        (rf"(?<![\w:.]){_HEX}{{1,4}}:[0-9a-fA-F:]{{2,34}}(?![\w:.])", _address),
    )
)
"""In this order: a secret may hold an address, a MAC address looks like the start of an IPv6 address."""
