"""A program read back from its bytes gives what the model gives, on real pictures and for several batch sizes."""

from torch import Tensor, nn

from rigwise.speech import say
from rigwise.train.export.asking import Classifier, probabilities
from rigwise.train.export.program import first_line, loaded
from rigwise.train.step.device import CpuDevice

TOLERANCE = 1e-5
"""Largest difference of a probability. Our choice: the operators are the same on the same CPU, and bit-equal for every
network tried; other kernels may round differently, by some 1e-7 each. It changes no answer people could tell apart."""
MOST_PICTURES = 32


class NotEqual(Exception):
    """The program gives something else than the model; the message says how, in words."""


def prove(content: bytes, model: nn.Module, images: Tensor) -> str:
    """How the program was proved, in words.

    Args:
        content: of the program's file.
        model: what was exported, on the CPU.
        images: `(N, 3, S, S)` uint8, real pictures.

    Raises:
        NotEqual: a probability differs by more than `TOLERANCE`.
        ValueError: the program cannot be read back.
    """
    program = loaded(content).module()
    images = images[:MOST_PICTURES]
    try:
        differences = [_difference(program, model, batch) for batch in (images[:1], images[:2], images)]
    except Exception as error:  # guards of the program raise AssertionError, operators RuntimeError
        raise NotEqual(say("it cannot be run: {why}", why=first_line(error))) from error
    # Written so that NaN counts as a difference.
    if not all(difference <= TOLERANCE for difference in differences):
        raise NotEqual(
            say(
                "its probabilities differ from the trained model's by {difference}, more than {tolerance}",
                difference=f"{max(differences):.2g}",
                tolerance=f"{TOLERANCE:g}",
            )
        )
    return say(
        "read back and equal to the trained model on {count} pictures, largest difference of a probability "
        "{difference} (at most {tolerance})",
        count=len(images),
        difference=f"{max(differences):.2g}",
        tolerance=f"{TOLERANCE:g}",
    )


def _difference(program: Classifier, model: Classifier, images: Tensor) -> float:
    """Largest difference of a probability."""
    one, other = (probabilities(each, images, CpuDevice()) for each in (program, model))
    return float((one - other).abs().max())
