"""The driver's kernel module is of the wrong kind for this GPU.

What: no GPU is listed, and the module is the closed one with a Blackwell GPU, or the open one with a chip before
Turing; or the driver says so itself.
Why: Blackwell is only driven by the open module, and the open module needs the GSP that chips have since Turing.
How to tell: the driver's words in the kernel log; else /proc/driver/nvidia/version or `modinfo nvidia`, and the chip
by its PCI device id.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import driver_commands
from rigwise.knowledge.architectures import capability_of_pci_id, needs_open_module, refuses_open_module
from rigwise.knowledge.failed_starts import NEEDS_CLOSED, NEEDS_OPEN, WORKS
from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when the kind of module explains why no GPU is listed."""
    said = None if rig.num_gpus.value else next(_said_by_driver(rig), None)
    if said is not None:
        yield said
        return
    if rig.lists_gpus():
        return
    is_open = rig.stack.open_module.need()
    chips = [capability_of_pci_id(device.device_id) for device in rig.pci_gpus.need()]
    known = [chip for chip in chips if chip is not None]
    evidence = (rig.stack.open_module, rig.pci_gpus, rig.num_gpus)
    if not is_open and any(map(needs_open_module, known)):
        because = say("This GPU is of the Blackwell generation, and the installed module is the closed one.")
        yield Problem(because, evidence, driver_commands(rig), action=_install_open())
    if is_open and any(map(refuses_open_module, known)):
        because = say("This GPU is older than Turing, and the installed module is the open one.")
        yield Problem(because, evidence, action=_install_closed())


def _said_by_driver(rig: Rig) -> Iterator[Problem]:
    """A problem where the kernel log has the driver's own words for it; a warning where it drives another card."""
    severity = Severity.WARNING if log_lines(rig.kernel_log, WORKS) else None
    if lines := log_lines(rig.kernel_log, NEEDS_OPEN):
        because = say("This card works only with the open kernel modules, and the closed ones are installed.")
        yield Problem(because, lines[-2:], driver_commands(rig), severity, action=_install_open())
    if lines := log_lines(rig.kernel_log, NEEDS_CLOSED):
        because = say(
            "This card is older than Turing and works only with the closed kernel module; the open one is loaded."
        )
        yield Problem(because, lines[-2:], severity=severity, action=_install_closed())


def _install_open() -> str:
    return say("Install the driver with the open kernel module, then restart.")


def _install_closed() -> str:
    return say("Install the driver with the closed kernel module, of branch 580 or older, then restart.")
