"""How long `check --from` reads a kernel log of 1 GB, and in how much memory. Prints one table.

Three logs are made in a temporary folder (3 GB of disk): a quiet one with a line of the driver in 50,000, a busy one
with a frequent harmless word that is looked for (nvme), and a flood of nothing but the driver's lines. The time is that
of a process that opens the file, less that of one that opens an empty file; beside it `grep -c Xid` on the same file.
Median of 5, the two in turn. The budget is 3 times grep and 200 MB.

    python benchmarks/kernel_log_scan.py
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SIZE_BYTES = 10**9
NUM_ROUNDS = 5
OPEN = "import sys; from rigwise.sources.opening import open_source; open_source(sys.argv[1]).kernel_log()"
XID = "NVRM: Xid (PCI:0000:41:00): 31, pid=18422, name=python, Ch 00000008, intr 10000000."
HARMLESS = (
    "usb 1-1: new high-speed USB device number {} using xhci_hcd",
    "IPv6: ADDRCONF(NETDEV_CHANGE): eth{}: link becomes ready",
    "docker0: port {}(veth3f1c) entered blocking state",
    'audit: type=1400 audit(1700000000.123:{}): apparmor="STATUS" operation="profile_load" name="snap"',
)
NVME = "EXT4-fs (nvme0n1p2): re-mounted. Opts: errors=remount-ro seq {}"


def quiet(number: int) -> str:
    return XID if number % 50_000 == 0 else HARMLESS[number % len(HARMLESS)]


def busy(number: int) -> str:
    return NVME if number % 5 == 0 else quiet(number)


def flood(number: int) -> str:
    return XID


def make_log(path: Path, message: Callable[[int], str]) -> None:
    """Lines with rising times, as dmesg prints them."""
    rng = random.Random(0)
    with path.open("w") as file:
        number = 0
        while file.tell() < SIZE_BYTES:
            lines = (f"[{n:12d}.{rng.randrange(10**6):06d}] {message(n)}\n" for n in range(number, number + 20_000))
            file.write("".join(line.replace("{}", str(rng.randrange(10**6))) for line in lines))
            number += 20_000


def run(command: list[str]) -> tuple[float, float]:
    """Wall seconds, and the largest memory of the process and its children, MB."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # into /dev/null, grep stops at the first line
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return time.perf_counter() - started, usage.ru_maxrss / 1000


def measure(path: Path, empty: Path) -> tuple[float, float, float]:
    """Median seconds of our scan and of grep, and our memory, MB."""
    ours, theirs, memory = [], [], 0.0
    for _ in range(NUM_ROUNDS):
        seconds, megabytes = run([sys.executable, "-c", OPEN, str(path)])
        ours.append(seconds - run([sys.executable, "-c", OPEN, str(empty)])[0])
        theirs.append(run(["grep", "-c", "Xid", str(path)])[0])
        memory = max(memory, megabytes)
    return statistics.median(ours), statistics.median(theirs), memory


def main() -> None:
    print(f"{'log of 1 GB':14}{'rigwise, s':>12}{'grep -c Xid, s':>16}{'ratio':>8}{'memory, MB':>12}")
    with tempfile.TemporaryDirectory() as scratch:
        empty = Path(scratch, "empty.log")
        empty.write_text("[    1.000000] usb 1-1: new device\n")
        for message in (quiet, busy, flood):
            path = Path(scratch, "kern.log")
            make_log(path, message)
            ours, theirs, memory = measure(path, empty)
            print(f"{message.__name__:14}{ours:12.2f}{theirs:16.2f}{ours / theirs:8.2f}{memory:12.0f}", flush=True)


if __name__ == "__main__":
    main()
