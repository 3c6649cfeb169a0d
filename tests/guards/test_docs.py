"""The page of checks says what the catalogue and the checks say now."""

import subprocess
import sys

import pytest
from generate_docs import PAGE, contents, page, parts
from guards.own_files import ROOT

from rigwise.knowledge.check_catalogue import check_catalogue


def test_the_page_of_checks_is_up_to_date() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "generate_docs.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_names_every_check_with_its_next_steps() -> None:
    text = page()
    assert PAGE.name == "checks.md"
    assert text.count("\n## ") == len(check_catalogue()) == len(list(contents(check_catalogue()))) - 2
    for row in check_catalogue().values():
        assert "\n".join(["```sh", *row.next_steps, "```"]) in text


@pytest.mark.parametrize("check", list(check_catalogue()))
def test_what_why_and_how_to_tell_are_told_once(check: str) -> None:
    told = ["- **How to tell"] if check_catalogue()[check].told_only else ["- **What", "- **Why", "- **How to tell"]
    assert [part.split(":**")[0] for part in parts(check)] == told
