"""A script keeps the CPU busy and the GPU waiting.

What: in a profile, the GPU works for less than half of the CPU time.
Why: the GPU is paid for and idle; what the CPU does (loading, augmenting, Python, launching) decides the speed.
How to tell: Self CUDA time total below half of Self CPU time total (our choice), or half of the CPU time spent on the
loader's next batch. The operations that cost most CPU time say where to look. Without GPU time no more can be told.
"""

from collections.abc import Iterator

from rigwise.records.evidence import Status
from rigwise.records.finding import Problem
from rigwise.records.profile import Profile
from rigwise.records.reading import AbsentReading, Reading
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

HALF = 0.5
LOADER = "enumerate(DataLoader)"
"""torch.profiler's name for the wait for a batch."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem when the GPU waits for the CPU most of the time."""
    profile = rig.profile.need()
    loading = sum(row.self_cpu_seconds for row in profile.rows if row.name.startswith(LOADER)) / profile.cpu_seconds
    if loading >= HALF and profile.gpu_seconds is None:
        because = say(
            "The training process spent {share} of its CPU time on its loader's next batch.", share=percent(loading)
        )
        action = say("Load with workers (num_workers), and make what they do per sample cheaper, or cache its result.")
        yield Problem(because, (rig.profile,), action=action)
        return
    if profile.gpu_seconds is None:
        raise AbsentReading(Reading(say("GPU time in the profile"), None, Status.NOT_RECORDED, rig.profile.quote))
    if profile.gpu_seconds < HALF * profile.cpu_seconds:
        yield Problem(_because(profile, profile.gpu_seconds / profile.cpu_seconds), (rig.profile,))


def _because(profile: Profile, gpu_share: float) -> str:
    dearest = profile.dearest(on_gpu=False)
    shares = [f"{row.name} {percent(row.self_cpu_seconds / profile.cpu_seconds)}" for row in dearest]
    return say(
        "The GPU worked {share} of the CPU time. Most CPU time: {names}.",
        share=percent(gpu_share),
        names=", ".join(shares) or say("not in the table"),
    )
