"""How torch's CPU threads wait for each other. Must be settled before torch is imported, and must not import it.

By default OpenMP threads spin while they wait. When anything else runs on their cores (the loader's threads do), the
spinning keeps the thread that is waited for from running: on 2 cores with one busy neighbour a step of
tf_efficientnet_lite0 took 10.2 s spinning and 2.1 s sleeping; with idle cores there was no difference (docs/LOG.md).
"""

import os

WAIT_POLICY = "OMP_WAIT_POLICY"
"""OpenMP 5.2 specification, section 21.1.8."""


def sleep_while_waiting() -> None:
    """Make torch's CPU threads sleep instead of spin, unless the user chose otherwise."""
    os.environ.setdefault(WAIT_POLICY, "PASSIVE")
