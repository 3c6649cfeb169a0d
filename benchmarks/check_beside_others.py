"""`rigwise check` beside the tools people use to look at a GPU once, on the same simulated RTX 4090.

All read the same fake NVML library (tests/fake_gpu); each round runs every tool once, so that they share what the
machine does meanwhile. Prints one table: median and least wall seconds, and the ratio of the medians to
`rigwise check`. On the simulated machine the framework probe is answered from the recording; beside `collect_env`,
which imports torch, stands what the real probe adds.

    python benchmarks/check_beside_others.py
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fake_gpu.machine import fake_machine  # noqa: E402

import rigwise.probes  # noqa: E402

MACHINE = ROOT / "tests" / "recordings" / "healthy_rtx4090"
PROBE = Path(rigwise.probes.__file__).parent / "framework_probe.py"
OTHERS = ("nvitop", "gpustat")
NUM_ROUNDS = 7


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        environment = fake_machine(MACHINE, Path(place) / "machine")
        commands = own_commands() | others(Path(place) / "venv")
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        said = {}
        for _ in range(NUM_ROUNDS):
            for name, command in commands.items():
                began = time.perf_counter()
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                seconds[name].append(time.perf_counter() - began)
                said[name] = done.stdout
    show(seconds, said)


def own_commands() -> dict[str, list[str]]:
    """What rigwise runs, and torch's own report."""
    return {
        "rigwise check": [sys.executable, "-m", "rigwise", "check"],
        "rigwise check --only T3": [sys.executable, "-m", "rigwise", "check", "--only", "T3"],
        "its framework probe, really": [sys.executable, str(PROBE)],
        "torch.utils.collect_env": [sys.executable, "-m", "torch.utils.collect_env"],
    }


def others(folder: Path) -> dict[str, list[str]]:
    """The other tools, in a virtual environment of their own."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *OTHERS], check=True)
    return {"nvitop -1": [python, "-m", "nvitop", "-1"], "gpustat": [python, "-m", "gpustat"]}


def show(seconds: dict[str, list[float]], said: dict[str, str]) -> None:
    """The table; a tool that did not name the GPU's VRAM or model could not read the simulated card."""
    ours = statistics.median(seconds["rigwise check"])
    print(f"{'':30}{'median s':>10}{'least s':>10}{'ratio':>8}  saw the card")
    for name, runs in seconds.items():
        median = statistics.median(runs)
        saw = "yes" if "4090" in said[name] else "no"
        print(f"{name:30}{median:10.3f}{min(runs):10.3f}{median / ours:8.2f}  {saw}")


if __name__ == "__main__":
    main()
