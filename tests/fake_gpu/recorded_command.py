"""Answers a command line as a recording does: python recorded_command.py SCENARIO NAME [ARGUMENT ...].

The fake `nvidia-smi`, `dmesg` and so on of a simulated machine are one-line scripts that call this.
"""

import shlex
import sys
import time
from pathlib import Path

from rigwise.records.evidence import Evidence, Status
from rigwise.sources import layout
from rigwise.sources.recorded import RecordedSource


def answer(scenario: Path, words: list[str]) -> Evidence:
    source = RecordedSource(scenario)
    return source.kernel_log() if words[:1] == ["dmesg"] else source.command(words)


def main() -> int:
    scenario, *words = sys.argv[1:]
    recorded = answer(Path(scenario), words)
    if recorded.status is Status.TIMED_OUT:
        time.sleep(3600)
    if recorded.return_code is None:
        print(f"{shlex.join(words)}: not in {layout.COMMAND_INDEX} of this recording", file=sys.stderr)
        return 127
    sys.stdout.write(recorded.text)
    return recorded.return_code


if __name__ == "__main__":
    sys.exit(main())
