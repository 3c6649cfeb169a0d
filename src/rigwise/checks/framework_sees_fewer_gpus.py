"""A framework sees fewer GPUs than it should.

What: it counts fewer devices than the driver lists and CUDA_VISIBLE_DEVICES leaves visible.
Why: a card that does not start is left out, and work meant for it lands on the others.
How to tell: `torch.cuda.device_count()` in the user's own interpreter. Not judged under MIG, where CUDA counts
instances.
"""

from collections.abc import Iterator

from rigwise.knowledge.visible_devices import visible_gpus
from rigwise.records.excerpt import framework_facts
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework that counts too few."""
    rig.need_gpus()
    interpreter = rig.interpreter.need()
    if any(gpu.mig_enabled.value for gpu in rig.gpus):
        return
    uuids = [gpu.uuid.value for gpu in rig.gpus]
    expected = len(visible_gpus(interpreter.cuda_visible_devices, uuids))
    for framework in interpreter.frameworks:
        if framework.cuda_available and framework.device_count is not None and framework.device_count < expected:
            because = say(
                "{name} counts {count} of {expected} visible GPUs.",
                name=framework.name,
                count=framework.device_count,
                expected=expected,
            )
            facts = framework_facts(rig.interpreter, framework, "device_count")
            yield Problem(because, (facts, rig.num_gpus))
