"""Active probes, bounded in time: only `--deep` asks them on a live machine; a recording answers what it holds."""

from rigwise.probes.host.disk_speed import read_disk_speed
from rigwise.probes.software.container_trial import read_container_trial
from rigwise.probes.software.interpreter import read_framework_kernels
from rigwise.probes.topology.transfers import read_transfers
from rigwise.records.deep import DeepLook
from rigwise.sources.source import Source


def read_deep(source: Source, python: str | None, data_folder: str = ".") -> DeepLook:
    """What the active probes measured, of the disk that holds `data_folder`."""
    return DeepLook(
        disk_speed=read_disk_speed(source, data_folder),
        transfers=read_transfers(source, python),
        container_trial=read_container_trial(source),
        interpreter=read_framework_kernels(source, python),
    )
