"""No PyTorch with CUDA exists for this Python.

What: PyTorch is missing or a CPU build, and no wheel fits this Python together with this GPU and this driver.
Why: each release has wheels for some Pythons and some GPUs; the last ones for older GPUs and drivers have none for the
newest Python, so pip takes an older or a CPU build, or finds none.
How to tell: Python's version, the GPU's architecture and the driver against knowledge/torch_builds.csv.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import gpu_capabilities, python_numbers, torch_build_for
from rigwise.knowledge.frameworks import best_torch_build
from rigwise.records.excerpt import on_windows
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when another Python would have a wheel and this one has none."""
    rig.need_gpus()
    interpreter = rig.interpreter.need()
    torch = next((one for one in interpreter.frameworks if one.name == "torch"), None)
    if (torch is not None and not torch.cpu_only) or python_numbers(rig) is None or torch_build_for(rig) is not None:
        return
    build = best_torch_build(gpu_capabilities(rig), rig.driver_version.value, windows=on_windows(rig))
    if build is None or not gpu_capabilities(rig):
        return
    because = say(
        "Python {python} has no PyTorch wheel that runs on this GPU and driver; Python {newest} has.",
        python=interpreter.version,
        newest=build.python_newest,
    )
    newest = build.python_newest
    steps = (f"uv venv --python {newest} fresh", f"python{newest} -m venv fresh")
    severity = Severity.NOTE if torch is None else None
    yield Problem(because, (rig.interpreter, rig.driver_version), next_steps=steps, severity=severity)
