"""`pip install rigwise` alone: everything the core needs is in the wheel, and the core needs no torch."""

import json
import re
import subprocess
import tomllib
import zipfile
from collections.abc import Callable
from email.parser import Parser
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from guards.own_files import PACKAGE, ROOT

import rigwise as ours

Rigwise = Callable[..., subprocess.CompletedProcess[str]]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
INFO = f"rigwise-{ours.__version__}.dist-info"
NOT_SHIPPED = {".pyc", ".pot"}
HEAVY = {"torch", "torchvision", "timm", "numpy", "pillow", "plotly", "jinja2", "simplejpeg", "textual", "ray"}


@pytest.fixture(scope="module")
def archive(wheel: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(wheel)


def test_the_wheel_holds_the_whole_package_and_nothing_else(archive: zipfile.ZipFile) -> None:
    names = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in NOT_SHIPPED]
    assert names == {path.relative_to(PACKAGE.parent).as_posix() for path in files}


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "knowledge/checks/10-visibility.toml",
        "knowledge/gpus.csv",
        "probes/host/disk_probe.py",
        "probes/topology/cuda_probe.py",
        "probes/software/framework_probe.py",
        "report/templates/report.html.j2",
        "report/templates/report.css",
        "report/templates/report.js",
    ],
)
def test_the_wheel_holds_what_is_read_at_run_time(archive: zipfile.ZipFile, name: str) -> None:
    assert archive.read(f"rigwise/{name}") == (PACKAGE / name).read_bytes()


def test_the_licence_is_included(archive: zipfile.ZipFile) -> None:
    assert archive.read(f"{INFO}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()


def test_pip_is_told_the_licence_the_readme_and_what_to_install(archive: zipfile.ZipFile) -> None:
    metadata = Parser().parsestr(archive.read(f"{INFO}/METADATA").decode())
    assert metadata["License-Expression"] == "Apache-2.0"
    assert (ROOT / "README.md").read_text(encoding="utf-8").strip() in str(metadata.get_payload())
    core = {re.split(r"[<>=]", one)[0] for one in metadata.get_all("Requires-Dist", []) if "extra" not in one}
    assert core == {"msgspec", "nvidia-ml-py", "psutil", "rich", "typer"}
    extras = {"train", "memory", "text", "html", "watch", "serve", "cluster", "all"}
    assert set(metadata.get_all("Provides-Extra", [])) == extras


def test_make_installs_what_the_project_says_developers_need() -> None:
    (line,) = re.findall(r"install --quiet --disable-pip-version-check ((?:[\w-]+ ?)+)$", MAKEFILE, re.MULTILINE)
    assert line.split() == [re.split(r"[<>=]", one)[0] for one in PROJECT["dependency-groups"]["dev"]]


@pytest.mark.slow
def test_the_core_brings_nothing_heavy(core: Path) -> None:
    (packages,) = core.glob("lib/python*/site-packages")
    installed = {found.name.lower() for found in distributions(path=[str(packages)])}
    assert {"rigwise", "msgspec"} <= installed
    assert not installed & HEAVY


@pytest.mark.slow
def test_help_and_version(rigwise: Rigwise) -> None:
    assert "rigwise [OPTIONS] COMMAND" in rigwise("--help").stdout
    assert rigwise("--version").stdout == f"rigwise {ours.__version__}\n"


@pytest.mark.slow
def test_check_on_a_simulated_machine(rigwise: Rigwise) -> None:
    run = rigwise("check", "--json")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["decision"]["action"] == "go"
    assert verdicts(report)["hot_gpu"] == "ok"


@pytest.mark.slow
def test_check_asks_the_python_that_is_named(rigwise: Rigwise, core: Path) -> None:
    run = rigwise("check", "--json", "--python", core / "bin" / "python", RIGWISE_ROOT="/")
    assert run.returncode in (0, 1), run.stderr
    assert verdicts(json.loads(run.stdout))["framework_missing"] == "problem"


@pytest.mark.slow
def test_check_of_evidence(rigwise: Rigwise, recording: Callable[[str], Path]) -> None:
    run = rigwise("check", "--from", recording("hot_throttling"), "--json")
    assert run.returncode == 1, run.stderr
    assert json.loads(run.stdout)["findings"][0]["check"] == "hot_gpu"


@pytest.mark.slow
def test_the_overview(rigwise: Rigwise) -> None:
    run = rigwise()
    assert run.returncode == 0, run.stderr
    assert "RTX 4090" in run.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["train pictures", "train --from run", "smoke", "report run", "demo", "predict run pictures"]
)
def test_what_needs_torch_says_how_to_get_it(rigwise: Rigwise, command: str) -> None:
    assert_names_the_extra(rigwise(*command.split()))


@pytest.mark.slow
def test_torch_alone_is_not_enough(rigwise: Rigwise, tmp_path: Path) -> None:
    (tmp_path / "site" / "torch").mkdir(parents=True)
    (tmp_path / "site" / "plotly").mkdir()
    for command in ("smoke", "train pictures", "report run"):
        assert_names_the_extra(rigwise(*command.split(), PYTHONPATH=str(tmp_path / "site")))


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    """What each check of a report says."""
    return {finding["check"]: finding["verdict"] for finding in report["findings"]}


def assert_names_the_extra(run: subprocess.CompletedProcess[str]) -> None:
    """One clear error with the one next command, and exit code 2."""
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert [line.split()[0] for line in run.stderr.splitlines()] == ["error:", "why:", "next:"]
    assert run.stderr.endswith("pip install 'rigwise[train]'\n")
