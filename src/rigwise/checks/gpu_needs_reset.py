"""A GPU says that it must be reset before it may be used again.

What: the driver's recovery action for the GPU is not None.
Why: after a fault the driver keeps new work away, or the work fails, although every counter may stand at 0.
How to tell: `GPU Recovery Action` of `nvidia-smi -q`; it stays until the action was done (sichek PR#121).
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem for every action but None."""
    action = gpu.recovery_action.need()
    reset, reboot = f"sudo nvidia-smi --gpu-reset -i {gpu.index}", "sudo reboot"
    steps: tuple[str, ...] = (reset, reboot)
    match action.lower():
        case "none":
            return
        case "reset" | "gpu reset" | "bus reset":
            because = say("The driver asks for a reset of this GPU.")
        case "drain p2p" | "drain":
            because = say("The driver asks to end the work that uses this GPU together with others.")
        case "drain and reset":
            because = say("The driver asks to end all work on this GPU and to reset it.")
        case "recover imex domain":
            because = say("The driver asks to start the IMEX service of every machine of the domain again.")
            steps = ("sudo systemctl restart nvidia-imex",)
        case _:
            because, steps = say("The driver asks for: {action}.", action=action), (reboot,)
    severity = Severity.WARNING if "p2p" in action.lower() else None
    yield Problem(because, (gpu.recovery_action,), next_steps=steps, severity=severity)
