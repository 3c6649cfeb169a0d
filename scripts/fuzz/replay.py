"""Runs the inputs that the fuzzer kept, without instrumentation: python scripts/fuzz/replay.py FILE ...

Exit status 1 when one of them crashes or takes longer than its size allows.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

from target import check_bytes, explain_bytes, limit_seconds, seconds, warm_up  # noqa: E402


def faults(content: bytes) -> Iterator[str]:
    """What is wrong with how an input is answered, in words."""
    warm_up()
    for examine in (check_bytes, explain_bytes):
        try:
            taken = seconds(examine, content)
        except Exception as failure:
            yield f"{examine.__name__}: {type(failure).__name__}: {failure}"
        else:
            if taken > limit_seconds(content):
                yield f"{examine.__name__}: {taken:.1f} s for {len(content)} bytes"


def main(paths: list[str]) -> int:
    """1 when anything is wrong."""
    wrong = [f"{path}: {fault}" for path in paths for fault in faults(Path(path).read_bytes())]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
