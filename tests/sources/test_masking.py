"""What a masked recording may still say, and what it must not."""

import re
from pathlib import Path

import pytest

from rigwise.sources.masking import Identity, mask, this_identity

RECORDINGS = Path(__file__).parents[1] / "recordings"
ADA = Identity(("ada", "rig-ada.example.org", "rig-ada"), "salt")
UUID = "GPU-4f1c2a90-7d53-4be8-9a16-0c8e5b7d3f21"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("/home/grace/venv/bin/python", "grace"),
        (r"C:\Users\grace\train.py", "grace"),
        ("started by ada on rig-ada", "ada"),
        ("Nov 30 13:02:44 rig-ada kernel: NVRM: loading", "rig-ada"),
        ("root@rig-ada.example.org:~#", "rig-ada"),
        ("grace:x:1001:1001:Grace Hopper,,,:/home/grace:/bin/bash", "Hopper"),
        ("grace:x:1001:1001:Grace Hopper,,,:/home/grace:/bin/bash", "grace"),
        (f"GPU 0: NVIDIA H100 (UUID: {UUID})", "4f1c2a90"),
        ("CUDA_VISIBLE_DEVICES=GPU-4f1c2a90", "4f1c2a90"),
        ("MIG-4f1c2a90-7d53-4be8-9a16-0c8e5b7d3f21", "7d53"),
        ("NVRM: GPU Board Serial Number: 1650124014249", "1650124014249"),
        ("<serial>1650124014249</serial>", "1650124014249"),
        ("    Serial Number      : 1650124014249", "1650124014249"),
        ("link/ether 9c:6b:00:1f:2e:3d brd", "9c:6b"),
        ("inet 10.0.4.7/24", "10.0.4.7"),
        ("connect to 93.184.216.34:8080 failed", "93.184.216.34"),
        ("inet6 fe80::9e6b:ff:fe1f:2e3d/64", "2e3d"),
        ("WANDB_API_KEY=0123456789abcdef", "0123456789abcdef"),
        ('"hf_token": "letmein"', "letmein"),
        ("export AWS_SECRET_ACCESS_KEY='x/y+z'", "x/y+z"),
        ("PASSWORD: hunter2", "hunter2"),
        ("Authorization: Bearer abcdef.123456", "abcdef"),
        ("found hf_AbCdEfGhIjKlMnOp in the log", "hf_AbC"),
        ("pip --index-url https://ada:hunter2@pypi.example.org/simple", "hunter2"),
        ("mail to grace.hopper@navy.example.org", "hopper"),
    ],
)
def test_nothing_secret_survives(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in mask(text, ADA)


@pytest.mark.parametrize(
    "text",
    [
        "Xid (PCI:0000:41:00): 79, pid=18422, GPU has fallen off the bus.",
        "busId=00000000:41:00.0 pciDeviceId=646189278",
        "total=25757220864 reserved=457179136 free=24869076992 used=430964736",
        "12.570.124.06",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Mon Jan 27 03:15:26 UTC 2025",
        "nvidia-cudnn-cu12==9.10.2.21",
        "VBIOS Version : 96.00.A5.00.01",
        "Serial Number : N/A",
        "<serial>N/A</serial>",
        "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@439a258ad544)",
        "13:02:44 up 14 days",
        "0::/init.scope",
        "listening on 127.0.0.1:8080 and ::1",
        "tokens_per_second=114",
        "root:x:0:0:root:/root:/bin/bash",
        "pid=3 used_bytes=N/A",
    ],
)
def test_what_probes_read_stays(text: str) -> None:
    assert mask(text, ADA) == text


def test_recordings_lose_only_identities() -> None:
    """Word by word, only UUIDs and the user `user-1` change."""
    allowed = re.compile(r"[0-9a-f]{4,12}|user|name|1")
    changed = {
        (old, new, str(path.relative_to(RECORDINGS)))
        for path in RECORDINGS.rglob("*")
        if path.is_file()
        for old, new in zip(words(path.read_text()), words(mask(path.read_text(), ADA)), strict=True)
        if old != new
    }
    assert len(changed) > 10
    assert {change for change in changed if not all(map(allowed.fullmatch, change[:2]))} == set()


def words(text: str) -> list[str]:
    return re.split(r"(\W)", text)


def test_equal_things_stay_equal_and_keep_their_shape() -> None:
    first, second, short = mask(f"{UUID} {UUID.upper()} {UUID[:12]}", ADA).split()
    assert first == second
    assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first)
    assert first.startswith(short)
    assert mask("/home/grace", ADA).removeprefix("/home/") == mask("grace:x:1001:1001::/home/grace:/bin/sh", ADA)[:9]


def test_two_recordings_do_not_share_pseudonyms() -> None:
    assert mask(UUID, this_identity()) != mask(UUID, this_identity())


def test_names_that_are_ordinary_words_do_not_spoil_the_text() -> None:
    text = "nvidia 56711168 1 nvidia_uvm\nmodel name : Core i7\n12080 12"
    assert mask(text, Identity(("nvidia", "i7", "12080"), "salt")) == text
