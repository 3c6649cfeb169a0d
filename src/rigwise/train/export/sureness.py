"""When an answer deserves a second look, calibrated on the validation pictures.

Split conformal prediction: a class is possible from the probability on which at least `COVERAGE_RATIO` of the
validation pictures gave their true class. For pictures drawn like those, the true class is then among the possible ones
that often, whatever the network (A. N. Angelopoulos and S. Bates, "A gentle introduction to conformal prediction and
distribution-free uncertainty quantification", arXiv:2107.07511, section 1). An answer is sure when it is the only
possible class. The validation pictures also chose among a handful of trials, which the guarantee leaves out.
"""

from collections.abc import Sequence
from math import ceil

from rigwise.records.exported import Sureness

COVERAGE_RATIO = 0.95
"""Our choice: one in twenty, the error that every interval of a report is given for."""


def sureness(true_probabilities: Sequence[float]) -> Sureness:
    """From which probability on a class is possible, by what the model gave the true class of validation pictures.

    None with fewer than 19 pictures: no probability is low enough to be sure of 95 %.

    >>> sureness([0.5 + number / 100 for number in range(19)]).threshold_ratio
    0.5
    >>> sureness([1.0] * 18).threshold_ratio is None
    True
    """
    total = len(true_probabilities)
    rank = ceil((total + 1) * COVERAGE_RATIO)
    threshold = sorted(true_probabilities, reverse=True)[rank - 1] if rank <= total else None
    return Sureness(threshold_ratio=threshold, coverage_ratio=COVERAGE_RATIO, num_pictures=total)
