"""A script spends its time launching many tiny kernels.

What: in a profile, kernels last about as long as it takes to launch one, and the GPU waits in between.
Why: a faster GPU changes nothing; fewer and larger kernels do: CUDA graphs, torch.compile, fused optimisers, larger
batches.
How to tell: GPU time per kernel launch below 10 us over at least 1,000 launches, while the GPU works less than half
of the CPU time. A launch costs about 3 to 10 us of CPU time (NVIDIA, Getting Started with CUDA Graphs).
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.profile import Profile
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import duration, percent

LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "hipLaunchKernel")
FEWEST_LAUNCHES = 1000
TINY_SECONDS = 10e-6
HALF = 0.5


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem when launching costs more than computing."""
    profile = rig.profile.need()
    launches = profile.calls(*LAUNCHES)
    if profile.gpu_seconds is None or launches < FEWEST_LAUNCHES:
        return
    per_launch = profile.gpu_seconds / launches
    if per_launch < TINY_SECONDS and profile.gpu_seconds < HALF * profile.cpu_seconds:
        yield Problem(_because(profile, launches, per_launch), (rig.profile,))


def _because(profile: Profile, launches: int, per_launch_seconds: float) -> str:
    assert profile.gpu_seconds is not None
    return say(
        "{launches} kernels of {each} on average: the GPU worked {share} of the CPU time, launching took the rest.",
        launches=f"{launches:,}",
        each=duration(per_launch_seconds),
        share=percent(profile.gpu_seconds / profile.cpu_seconds),
    )
