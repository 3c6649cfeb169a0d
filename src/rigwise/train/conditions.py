"""The conditions of an experiment: the device, and what makes it repeatable."""

import torch

from rigwise.records.finding import CheckReport, Severity, Verdict
from rigwise.speech import say
from rigwise.train.recipe_sections import Recipe
from rigwise.train.step.device import CpuDevice, Device, first_gpu


def choose_device(report: CheckReport) -> tuple[Device, str]:
    """The GPU PyTorch sees, or the CPU and the reason in words."""
    gpu = first_gpu()
    return (gpu, "") if gpu is not None else (CpuDevice(), why_no_gpu(report))


def why_no_gpu(report: CheckReport) -> str:
    """Why PyTorch has no GPU: the first cause that `check` found, else what PyTorch says. A note explains nothing."""
    for finding in report.findings:
        if finding.verdict is Verdict.PROBLEM and finding.severity is not Severity.NOTE and finding.symptom_of is None:
            return finding.because
    build = torch.version.cuda or say("none, a CPU-only build")
    return say("PyTorch {version} (CUDA: {build}) sees no GPU", version=torch.__version__, build=build)


def make_repeatable(recipe: Recipe, device: Device) -> None:
    """Fixed threads and deterministic operators, so that equal recipes give bit-equal losses on the CPU.

    On a GPU deterministic operators are left off: some do not exist, others are slower, and the trials are there to
    measure speed. https://docs.pytorch.org/docs/stable/notes/randomness.html
    """
    torch.set_num_threads(recipe.cpu.num_threads)
    torch.use_deterministic_algorithms(not device.is_gpu)
