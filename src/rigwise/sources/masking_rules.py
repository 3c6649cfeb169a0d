"""What a secret, a name, a serial number and an address look like, and what takes their place.

Every pattern is bounded, so that masking takes time in proportion to the text.
"""

import ipaddress
import re
from collections.abc import Callable
from typing import NamedTuple

from rigwise.sources.pseudonyms import FIRST_PERSON, NOBODY, Identity
from rigwise.speech import say

HIDDEN = "(hidden)"
Replace = Callable[[Identity, re.Match[str]], str]


class Rule(NamedTuple):
    """One kind of thing that is masked."""

    what: str
    """For the preview of a recording."""
    pattern: re.Pattern[str]
    replace: Replace


def secret(_identity: Identity, match: re.Match[str]) -> str:
    """Nothing of a secret is left."""
    return match["before"] + HIDDEN


def place(identity: Identity, match: re.Match[str]) -> str:
    """A name where only names stand, however short it is."""
    return match["before"] + identity.name(match["name"])


def account(identity: Identity, match: re.Match[str]) -> str:
    """A line of /etc/passwd: the pseudonym of its home folder, and no real name; system accounts stay."""
    if not FIRST_PERSON <= int(match["uid"]) < NOBODY:
        return match[0]
    return f"{identity.name(match['name'])}:{match['middle']}::{match['rest']}"


def uuid(identity: Identity, match: re.Match[str]) -> str:
    """A UUID, or its first eight digits."""
    return match["before"] + identity.uuid(match["start"], match["rest"] or "")


def serial(identity: Identity, match: re.Match[str]) -> str:
    """Digits; N/A, [N/A] and None hold none and stay."""
    number = match["serial"]
    if not any(character.isdigit() for character in number):
        return match[0]
    return match["before"] + identity.digits(number)


def mac(identity: Identity, match: re.Match[str]) -> str:
    """A MAC address; that of nobody (00:...) and that of everybody (ff:...) stay."""
    telling = set(match[0].lower()) - {*":-"} not in ({"0"}, {"f"})
    return identity.mac(match[0]) if telling else match[0]


def long_id(identity: Identity, match: re.Match[str]) -> str:
    """A machine, container or commit id, or a key of that shape; as long as it was."""
    return identity.pseudonym(match[0], len(match[0]))


def address(identity: Identity, match: re.Match[str]) -> str:
    """An IP address becomes one of a range reserved for tests; a version number is none, or not valid as one."""
    try:
        found = ipaddress.ip_address(match[0])
    except ValueError:
        return match[0]
    if found.is_loopback or found.is_unspecified or _is_version(match):
        return match[0]
    digits = identity.pseudonym(match[0], 8)
    if found.version == 4:
        return f"198.18.{int(digits[:2], 16)}.{int(digits[2:4], 16)}"
    return f"2001:db8::{digits[:4]}:{digits[4:]}"


def _is_version(match: re.Match[str]) -> bool:
    """Whether the words before say that four numbers are a version: `nvidia-cudnn-cu12   9.10.2.21`."""
    return _BEFORE_VERSION.search(match.string, max(0, match.start() - 60), match.start()) is not None


_BEFORE_VERSION = re.compile(
    r"(?:version\W{0,6}|[=<>~]=\W?|(?<![\w.-])(?:nvidia|lib|cu|nccl|nvshmem|torch|tensor|jax|py|intel|mkl|tbb|nv)[\w.-]{0,40}"
    r"[\"' :\t]{1,30})\Z",
    re.IGNORECASE,
)
_HEX = "[0-9a-fA-F]"
_SECRET_NAME = (
    r"[\w-]{0,40}(?:token(?!s)|(?<!lib)secret|passw(?:or)?d|passphrase|credentials?|signature|cookie|webhook|[_-]key|apikey|_pat\b)"
    r"[\w-]{0,40}"
)
_VALUE = r"(?!(?:amd64|arm64|i386|all)\b)(?:(?<=\")[^\"\n]+|(?<=')[^'\n]+|[^\s\"',;]+)"
_TOKEN_START = (
    r"hf_|gh[oprsu]_|github_pat_|glpat-|sk-|AKIA|ASIA|xox[abpr]-|AIza|ya29\.|eyJ|npm_|pypi-|dckr_pat_|nvapi-|gsk_|r8_"
    r"|wandb_v1_|dop_v1_|tskey-"
)
_SECRETS, _NAMES = say("secrets"), say("user and host names")
_SERIALS, _UUIDS, _ADDRESSES = say("serial numbers"), say("UUIDs"), say("network addresses")
_PROGRAM = r"[\w.()/-]{1,40}(?:\[\d{1,8}\])?:"
"""What follows the host in a system log: `kernel:`, `sshd[812]:`."""
_NAME = r"(?P<name>[A-Za-z0-9_][\w.-]{0,63})"

PLACES = tuple(
    Rule(_NAMES, re.compile(pattern, re.MULTILINE), place)
    for pattern in (
        r"(?P<before>/home/|/Users/|\\Users\\|/media/(?!cdrom)|/run/media/|/scratch/)(?P<name>[^/\\\s\"':;,<>)]{1,64})",
        rf"^(?P<before>(?:\([\w. -]{{1,40}}\) ?)?\[?){_NAME}(?=@[\w.-]{{1,64}}[: ][^\n$#]{{0,200}}[$#])",
        rf"^(?P<before>(?:\([\w. -]{{1,40}}\) ?)?\[?[\w.-]{{1,64}}@){_NAME}(?=[: ][^\n$#]{{0,200}}[$#])",
        rf"^(?P<before>[A-Z][a-z]{{2}} [ \d]\d [\d:]{{8}} ){_NAME}(?= {_PROGRAM})",
        rf"^(?P<before>\d{{4}}-\d\d-\d\dT[\d:.,]{{8,20}}(?:Z|[+-][\d:]{{4,5}}) ){_NAME}(?= {_PROGRAM})",
        rf"^(?P<before>Linux ){_NAME}(?= \d+\.\d+[\w.+-]{{0,60}} #)",
        rf"^(?P<before> {{0,2}}(?:Name|Username|Hostname|Static hostname|Node[ _]?[Nn]ame): {{1,8}}){_NAME}(?=\s*$)",
        rf"(?P<before>\"(?:Host|Domain|User|Node)[nN]ame\": ?\"){_NAME}",
        rf"(?P<before>\"Name\": ?\"/){_NAME}",
        rf"(?P<before>[Hh]ostname (?:set )?to <){_NAME}",
        rf"(?P<before>\b(?:USER|LOGNAME|USERNAME|SUDO_USER|HOSTNAME|HOST|COMPUTERNAME|USERDOMAIN)=\"?){_NAME}",
    )
)
"""Where names stand; what stands there is hidden everywhere else too."""

RULES = (
    *(
        Rule(_SECRETS, re.compile(pattern), secret)
        for pattern in (
            r"(?P<before>)-----BEGIN [A-Z ]{0,40}-----[^-]*(?:-----END [A-Z ]{0,40}-----)?",
            r"(?P<before>)\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-[\w-]{1,40}) AAAA[\w+/=]+(?: \S{1,100})?",
            rf"(?i)(?P<before>\b{_SECRET_NAME}\\?[\"']?\s{{0,4}}[=:]\s{{0,4}}\\?[\"']?){_VALUE}",
            rf"(?i)(?P<before>--{_SECRET_NAME}[ \t]{{1,4}}[\"']?)(?!-){_VALUE}",
            r"(?i)(?P<before>\b(?:bearer|authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?\w{2,12})\s{1,4})[\w.~+/=-]{6,}",
            rf"(?P<before>)\b(?:{_TOKEN_START})[\w.-]{{12,}}",
            r"(?P<before>://)[^\s/@]{1,300}(?=@)",
            r"(?i)(?P<before>\b[eb]?ssid[\"']?\s{0,4}[=:]\s{0,4}[\"']?)(?!off)(?:(?<=[\"'])[^\"'\n]+|[^\s\"',][^\"',\n]*)",
            r"(?P<before>)\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){0,5}\.[A-Za-z]{2,24}\b",
        )
    ),
    Rule(
        _NAMES,
        re.compile(r"(?m)^(?P<name>[^\s:]{1,64}):(?P<middle>[^:\n]*:(?P<uid>\d+):\d+):[^:\n]*:(?P<rest>/[^:\n]*:.*)$"),
        account,
    ),
    *PLACES,
    Rule(
        _UUIDS,
        re.compile(rf"(?P<before>\b(?:GPU|MIG)-)(?P<start>{_HEX}{{8}})(?P<rest>(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}})?\b"),
        uuid,
    ),
    Rule(
        _UUIDS,
        re.compile(rf"(?<![\w-])(?P<before>)(?P<start>{_HEX}{{8}})(?P<rest>(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}})\b"),
        uuid,
    ),
    *(
        Rule(_SERIALS, re.compile(pattern), serial)
        for pattern in (
            r"(?i)(?P<before>\b(?:\w{1,20}_)?(?:serial(?:_short|[ _]?number| no\.?)?|s/n)[\"']?"
            r"\s{0,40}[:=]\s{0,4}[\"']?)(?P<serial>[\w-]+)",
            r"(?i)(?P<before><\w{0,20}serial\w{0,20}>)(?P<serial>[^<]+)",
            r"(?i)(?P<before>\b\w{0,20}guid\s{0,20}[:=]\s{0,20}(?:0x)?)(?P<serial>[0-9a-f:]{16,19})",
            r"(?P<before>/by-id/[a-z]{2,8}-[\w.-]{1,60}_)(?P<serial>[A-Za-z0-9]{6,40})",
        )
    ),
    Rule(_UUIDS, re.compile(r"(?<![\w:])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})(?!\w)"), long_id),
    Rule(_ADDRESSES, re.compile(rf"\b{_HEX}{{2}}(?:([:-]){_HEX}{{2}})(?:\1{_HEX}{{2}}){{4}}\b"), mac),
    *(
        Rule(_ADDRESSES, re.compile(pattern), address)
        for pattern in (
            r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)",
            rf"(?<![\w:.]){_HEX}{{1,4}}:[0-9a-fA-F:]{{2,34}}(?![\w:.])",
        )
    ),
    Rule(_ADDRESSES, re.compile(r"(?P<before>\bip-)(?P<serial>\d{1,3}(?:-\d{1,3}){3})\b"), serial),
)
"""In this order: a secret may hold an address, a MAC address looks like the start of an IPv6 address."""
