"""The CPUs are held at their lowest frequency.

What: the frequency governor is `powersave` under a driver that takes it literally.
Why: loading, tokenizing and starting kernels run at half speed or less.
How to tell: governor together with driver. Under intel_pstate and amd-pstate-epp `powersave` is the default and
scales with the load; without cpufreq (virtual machines) there is nothing to tell; a laptop may want it so.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

LITERAL_DRIVERS = ("acpi-cpufreq", "intel_cpufreq", "pcc-cpufreq", "cppc_cpufreq")
"""Drivers that leave the frequency to a generic governor, of which `powersave` means the lowest (kernel, cpufreq)."""
PORTABLE_CHASSIS = frozenset({8, 9, 10, 11, 14, 30, 31, 32})
"""SMBIOS 3.7, table 17: portable, laptop, notebook, hand held, sub notebook, tablet, convertible, detachable."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning on a machine that is no laptop."""
    governor, driver = rig.cpu.governor.need(), rig.cpu.frequency_driver.need()
    if governor != "powersave" or driver not in LITERAL_DRIVERS:
        return
    platform = rig.topology.platform.value
    if platform is not None and platform.chassis in PORTABLE_CHASSIS:
        return
    because = say(
        "The governor is {governor} under {driver}: the lowest frequency, whatever the load.",
        governor=governor,
        driver=driver,
    )
    yield Problem(because, (rig.cpu.governor, rig.cpu.frequency_driver))
