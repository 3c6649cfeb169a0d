"""What every error of the command line must be: what, why, next, and nothing else."""

from typing import Any


def assert_one_clear_error(run: Any, *words: str, exit_code: int = 2) -> None:
    assert run.returncode == exit_code, run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""
    lines = run.stderr.splitlines()
    assert [line[:6].strip() for line in lines if line[:6].strip() in ("error:", "why:", "next:")] == [
        "error:",
        "why:",
        "next:",
    ]
    for word in words:
        assert word in run.stderr
