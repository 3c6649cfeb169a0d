"""CUDA_VISIBLE_DEVICES hides GPUs.

What: the variable leaves no GPU visible, or fewer than the driver lists.
Why: frameworks see only what it names; an empty or wrong value means the CPU, without a word.
How to tell: the variable in the environment of the asked interpreter, by CUDA's own rule.
"""

from collections.abc import Iterator

from rigwise.knowledge.visible_devices import visible_gpus
from rigwise.records.evidence import Quote
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when GPUs are hidden; a note while some are visible, which is usually meant."""
    rig.need_gpus()
    value = rig.interpreter.need().cuda_visible_devices
    if value is None or value.strip().startswith("MIG-"):
        return
    num_visible = len(visible_gpus(value, [gpu.uuid.value for gpu in rig.gpus]))
    if num_visible == len(rig.gpus):
        return
    quote = Quote(rig.interpreter.quote.source, f'CUDA_VISIBLE_DEVICES="{value}"')
    variable = Reading("CUDA_VISIBLE_DEVICES", value, rig.interpreter.status, quote)
    because = say(
        "Programs started here see {visible} of {listed} GPUs.", visible=num_visible, listed=rig.num_gpus.value
    )
    yield Problem(because, (variable, rig.num_gpus), severity=Severity.NOTE if num_visible else None)
