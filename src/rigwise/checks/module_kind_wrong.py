"""The driver's kernel module is of the wrong kind for this GPU.

What: no GPU is listed, and the module is the closed one with a Blackwell GPU, or the open one with a chip before
Turing.
Why: Blackwell is only driven by the open module, and the open module needs the GSP that chips have since Turing.
How to tell: /proc/driver/nvidia/version or `modinfo nvidia`, and the chip by its PCI device id.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import driver_commands
from rigwise.knowledge.architectures import capability_of_pci_id, needs_open_module, refuses_open_module
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when the kind of module explains why no GPU is listed."""
    if rig.lists_gpus():
        return
    is_open = rig.stack.open_module.need()
    chips = [capability_of_pci_id(device.device_id) for device in rig.pci_gpus.need()]
    known = [chip for chip in chips if chip is not None]
    evidence = (rig.stack.open_module, rig.pci_gpus, rig.num_gpus)
    if not is_open and any(map(needs_open_module, known)):
        because = say("This GPU is of the Blackwell generation, and the installed module is the closed one.")
        action = say("Install the driver with the open kernel module, then restart.")
        yield Problem(because, evidence, driver_commands(rig), action=action)
    if is_open and any(map(refuses_open_module, known)):
        because = say("This GPU is older than Turing, and the installed module is the open one.")
        action = say("Install the driver with the closed kernel module, then restart.")
        yield Problem(because, evidence, action=action)
