"""Module, row and cases of every check agree."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from checks.overlay import read_case

import rigwise.checks
from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.records.finding import Verdict
from rigwise.report.causes import commands

CASES = Path(__file__).parents[1] / "cases"
CHECKS = tuple(check_catalogue())
WITH_MODULE = tuple(check for check, row in check_catalogue().items() if not row.told_only)


def test_every_module_has_a_row_and_every_row_a_module() -> None:
    assert {module.name for module in pkgutil.iter_modules(rigwise.checks.__path__)} == set(WITH_MODULE)


def test_every_folder_of_cases_belongs_to_a_check() -> None:
    assert {folder.name for folder in CASES.iterdir()} == set(CHECKS)


@pytest.mark.parametrize("check", WITH_MODULE)
def test_a_check_has_exactly_one_entry_point(check: str) -> None:
    module = importlib.import_module(f"rigwise.checks.{check}")
    entries = [name for name in ("check_gpu", "check_rig") if hasattr(module, name)]
    assert len(entries) == 1
    assert inspect.isgeneratorfunction(getattr(module, entries[0]))


@pytest.mark.parametrize("check", WITH_MODULE)
def test_the_docstring_says_what_why_and_how_to_tell(check: str) -> None:
    document = importlib.import_module(f"rigwise.checks.{check}").__doc__ or ""
    for heading in ("\nWhat: ", "\nWhy: ", "\nHow to tell: "):
        assert heading in document


@pytest.mark.parametrize("check", CHECKS)
def test_cases_cover_problem_ok_unknown_and_the_healthy_look_alike(check: str) -> None:
    cases = {path.stem: read_case(path) for path in (CASES / check).glob("*.toml")}
    assert {case.expect for case in cases.values()} == set(Verdict)
    assert any(name.startswith("lookalike_") for name in cases)
    for name, case in cases.items():
        expected = Verdict.OK if name.startswith("lookalike_") else Verdict(name.partition("_")[0])
        assert case.expect is expected, name


@pytest.mark.parametrize("check", CHECKS)
def test_rows_are_written_for_people(check: str) -> None:
    row = check_catalogue()[check]
    assert row.title[0].isupper()
    assert not row.title.endswith(".")
    assert row.action.endswith(".")
    assert commands(row.next_steps) == row.next_steps != ()
    assert all(source.startswith("https://") for source in row.sources)
    assert row.sources


def test_exactly_one_check_is_essential() -> None:
    assert [check for check, row in check_catalogue().items() if row.essential] == ["no_gpu_listed"]
