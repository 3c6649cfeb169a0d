"""A catalogue in another language really changes what rigwise prints, and misses no sentence of a check."""

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from extract_messages import messages
from guards.own_files import PACKAGE

Speaking = Callable[..., subprocess.CompletedProcess[str]]
TITLE = "The GPU is at its slowdown temperature"
MARKED = {sentence: f"<<{sentence}>>" for sentence in messages()}
TRANSLATED = "Bremstemperatur erreicht"


@pytest.fixture
def speaking(tmp_path: Path) -> Speaking:
    """Runs a copy of rigwise that has a catalogue of the language xx."""

    def run(catalogue: Mapping[str, str], *arguments: object, language: str = "xx") -> subprocess.CompletedProcess[str]:
        copy = shutil.copytree(
            PACKAGE, tmp_path / "rigwise", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
        compiled = copy / "locale" / "xx" / "LC_MESSAGES" / "rigwise.mo"
        compiled.parent.mkdir(parents=True, exist_ok=True)
        compiled.write_bytes(machine_object(catalogue))
        return subprocess.run(
            [sys.executable, "-m", "rigwise", *map(str, arguments)],
            env=os.environ | {"LANGUAGE": language, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_a_catalogue_changes_the_sentence_it_knows(speaking: Speaking, recording: Callable[[str], Path]) -> None:
    asked = ("check", "--from", recording("hot_throttling"))
    english = speaking({TITLE: TRANSLATED}, *asked, language="C")
    other = speaking({TITLE: TRANSLATED}, *asked)
    assert TITLE in english.stdout
    assert TITLE not in other.stdout
    assert english.stdout.replace(TITLE, TRANSLATED).split() == other.stdout.split()
    assert english.returncode == other.returncode == 1


@pytest.mark.parametrize("name", ["hot_throttling", "no_driver", "one_of_two_lost"])
def test_every_part_of_a_finding_can_be_translated(
    speaking: Speaking, recording: Callable[[str], Path], name: str
) -> None:
    report = json.loads(speaking(MARKED, "check", "--from", recording(name), "--json").stdout)
    assert report["decision"]["action"] == "stop"
    assert "<<" in report["decision"]["because"]
    for finding in report["findings"]:
        assert_marked(finding["title"], finding["because"], *finding["next_steps"][: finding["verdict"] == "problem"])


def test_errors_and_help_can_be_translated(speaking: Speaking) -> None:
    refused = speaking(MARKED, "check", "--only", "gpu_losst")
    assert refused.returncode == 2
    for line in refused.stderr.splitlines():
        assert_marked(*line.split(maxsplit=1))
    assert "<<List passing checks too.>>" in speaking(MARKED, "check", "--help").stdout


def assert_marked(*sentences: str) -> None:
    """Each begins and ends as a marked catalogue leaves it."""
    for sentence in sentences:
        assert sentence.startswith("<<"), sentence
        assert sentence.endswith(">>"), sentence


def machine_object(catalogue: Mapping[str, str]) -> bytes:
    """A compiled catalogue, as `msgfmt` writes it (GNU gettext manual, "The Format of GNU MO Files")."""
    entries = sorted(({"": "Content-Type: text/plain; charset=UTF-8\n"} | dict(catalogue)).items())
    columns = [[text.encode() for text in column] for column in zip(*entries, strict=True)]
    header_size, table_size = 28, 8 * len(entries)
    position = header_size + 2 * table_size
    index, texts = b"", b""
    for text in (*columns[0], *columns[1]):
        index += struct.pack("<II", len(text), position + len(texts))
        texts += text + b"\0"
    header = struct.pack(
        "<7I", 0x950412DE, 0, len(entries), header_size, header_size + table_size, 0, header_size + 2 * table_size
    )
    return header + index + texts
