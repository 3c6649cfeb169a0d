"""Runs every benchmark in this folder, one after the other. Ratios matter, not absolute times.

make bench
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """0 when every benchmark ran."""
    failed = 0
    for script in sorted(HERE.glob("*.py")):
        if script.name != Path(__file__).name and not script.stem.endswith("_peers"):
            print(f"\n== {script.name}", flush=True)
            failed += subprocess.run([sys.executable, str(script)], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
