"""Every report of the shared table of training cases has an outcome here, and the tests that are named carry its id."""

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("training_cases.tsv")
VERDICTS = ("tested", "elsewhere", "not ours")
CARRIED = re.compile(r"(?<=_)b\d+(?=_)")


def rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def ids_carried(code: ast.Module) -> Iterator[str]:
    """The ids in the names of a module's tests: `test_s2_b08_what_fits_once` carries B08."""
    for node in ast.walk(code):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from (found.upper() for found in CARRIED.findall(node.name))


def carried_in(file: Path) -> set[str]:
    return set(ids_carried(ast.parse(file.read_text(encoding="utf-8"))))


def test_every_case_of_the_shared_table_has_its_row_and_no_other_has(shared: Path) -> None:
    with (shared / "cases" / "training.tsv").open(encoding="utf-8", newline="") as file:
        cases = [row["id"] for row in csv.DictReader(file, delimiter="\t")]
    assert len(cases) > 60
    assert [row["id"] for row in rows()] == cases


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_what_a_row_says_is_so(row: dict[str, str]) -> None:
    assert row["verdict"] in VERDICTS
    if row["verdict"] != "tested":
        assert row["why"], "a case that is not tested needs its reason"
        return
    file = TESTS.parent / row["where"]
    assert re.fullmatch(r"test_\w+\.py", file.name), "pytest would not collect it"
    assert row["id"] in carried_in(file)


def test_an_id_in_another_place_than_a_tests_name_does_not_count() -> None:
    code = ast.parse(
        '"""B01"""\ndef helper_b02_x(): ...\ndef test_s2_b08_b9_fits(): ...\nclass A:\n    def test_b10_y(self): ...\n'
    )
    assert sorted(ids_carried(code)) == ["B08", "B10", "B9"]
