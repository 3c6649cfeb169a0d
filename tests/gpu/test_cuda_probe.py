"""The CUDA probe on a real card. Run by scripts/gpu_acceptance; always imported."""

import sys
import time
from collections.abc import Callable

import pytest

from rigwise.knowledge.pcie import gb_per_second, is_fixed_by_maker
from rigwise.probes.topology.transfers import LIMIT_SECONDS, read_transfers
from rigwise.sources.live import LiveSource

pytestmark = pytest.mark.gpu
Note = Callable[[str, object], None]


def test_copies_and_load_are_measured_on_every_free_gpu(record_property: Note) -> None:
    began = time.monotonic()
    transfers = read_transfers(LiveSource(), sys.executable).need()
    took = time.monotonic() - began
    measured = [trial for trial in transfers.gpus if not trial.skipped]
    record_property("seconds", round(took, 1))
    record_property("gpus", "; ".join(f"{one.name} {one.pinned_to_gpu} GB/s, {one.tflops} TFLOPS" for one in measured))
    record_property("skipped", ", ".join(trial.skipped for trial in transfers.gpus if trial.skipped))
    assert took < LIMIT_SECONDS
    assert transfers.gpus
    for trial in measured:
        assert (trial.kernel_ok, trial.error) == (True, "")
        assert trial.load is not None
        assert len(trial.load.clocks_event_reasons) >= 2
        assert max(watts for watts in trial.load.utilization_percent if watts is not None) > 50
        assert trial.pinned_to_gpu is not None
        link = gb_per_second(trial.load.pcie_gen or 0, trial.load.pcie_width or 0)
        if link is not None and not is_fixed_by_maker(trial.name):
            assert 0.3 * link < trial.pinned_to_gpu < link
    assert all(copy.intact for copy in transfers.peers)
