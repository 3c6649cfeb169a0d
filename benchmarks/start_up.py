"""How long a user waits for `rigwise --help` and `rigwise check`: wall seconds, median of 7 runs. Prints one table.

The budget is 0.25 s for --help, and 1 s for check besides the time of its framework probe, which runs in parallel: the
probe alone is a row of its own.

    python benchmarks/start_up.py
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import rigwise.probes

PROBE = Path(rigwise.probes.__file__).parent / "framework_probe.py"
COMMANDS = {
    "python alone": ["-c", "pass"],
    "rigwise --help": ["-m", "rigwise", "--help"],
    "rigwise check": ["-m", "rigwise", "check"],
    "its probe alone": [str(PROBE)],
}
NUM_ROUNDS = 7


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    exits = {}
    for _ in range(NUM_ROUNDS):
        for name, arguments in COMMANDS.items():
            began = time.perf_counter()
            exits[name] = subprocess.run([sys.executable, *arguments], capture_output=True, check=False).returncode
            seconds[name].append(time.perf_counter() - began)
    print(f"{'':16}{'median s':>10}{'least s':>10}{'exit':>6}")
    for name, runs in seconds.items():
        print(f"{name:16}{statistics.median(runs):10.3f}{min(runs):10.3f}{exits[name]:6}")


if __name__ == "__main__":
    main()
