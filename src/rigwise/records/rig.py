"""A machine at one moment, as typed readings. Built by `probes`, read by `checks` and `report`."""

from typing import Any

import msgspec

from rigwise.records.deep import DeepLook
from rigwise.records.evidence import Status
from rigwise.records.gpu import Gpu
from rigwise.records.host import Cpu, Host, Memory, Network, Storage
from rigwise.records.kernel_events import LogEvent
from rigwise.records.profile import Profile
from rigwise.records.reading import AbsentReading, Reading, not_asked
from rigwise.records.software import ContainerEngine, Interpreter, Stack
from rigwise.records.told import AllocationFailure, Told
from rigwise.records.topology import Topology


class PciDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One NVIDIA display device on the PCI bus, whether or not a driver claims it."""

    address: str
    """`41:00.0`, or `0008:01:00.0` outside of the first PCI domain."""
    device_id: str
    """`10de:2684`"""
    driver: str
    """Kernel driver bound to it (`nvidia`, `nouveau`, `vfio-pci`), or ""."""
    driver_told: bool = True
    """Whether the evidence would name a bound driver; plain `lspci` does not."""
    answers: bool = True
    """Whether its configuration space can be read; one without power or link reads all ones (`rev ff`)."""


class Rig(msgspec.Struct, frozen=True, kw_only=True):
    """A whole machine: GPUs, driver, host, and the user's frameworks."""

    nvml: Reading[str]
    """NVML version when it initialised; absent with the return code when not."""
    num_gpus: Reading[int]
    """How many GPUs the driver counts; may exceed `len(gpus)` in a trimmed capture."""
    gpus: tuple[Gpu, ...]
    driver_version: Reading[str]
    cuda_driver_version: Reading[tuple[int, int]]
    """Highest CUDA the driver supports, as (major, minor)."""
    kernel_driver_version: Reading[str]
    """Version of the loaded kernel module, from /proc/driver/nvidia/version."""
    pci_gpus: Reading[tuple[PciDevice, ...]]
    device_nodes: Reading[str]
    """What /dev/nvidiactl is to this user: `character device, readable and writable`."""
    host: Host
    interpreter: Reading[Interpreter]
    kernel_log: Reading[tuple[str, ...]]
    hung: tuple[Reading[Any], ...]
    """Questions that did not answer within their time limit."""
    log_events: Reading[tuple[LogEvent, ...]] = not_asked("kernel log")
    """Of the kernel log and the fabric manager's log, oldest first."""
    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    storage: Storage = Storage()
    network: Network = Network()
    topology: Topology = Topology()
    container_engine: ContainerEngine = ContainerEngine()
    stack: Stack = Stack()
    program_output: Reading[str] = not_asked("program output")
    """What programs printed, where somebody handed it over."""
    told: tuple[Told, ...] = ()
    """Error texts recognised in it, and in the kernel log."""
    allocation_failures: Reading[tuple[AllocationFailure, ...]] = not_asked("program output")
    broke_off: Reading[str] = not_asked("program output")
    """The line in which a program says that it broke off, or somebody that it hangs, whatever the reason."""
    """Requests for VRAM that failed, as programs printed it."""
    profile: Reading[Profile] = not_asked("profile of the script")
    deep: DeepLook = DeepLook()
    firmware: Reading[str] = not_asked("BIOS")
    """Vendor, product, board and BIOS: `ASUS System Product Name/PRIME X670E-PRO, BIOS 1654 08/21/2023`."""
    wsl_device: Reading[str] = not_asked("device file /dev/dxg")
    """What /dev/dxg, the GPU device of WSL2, is to this user."""
    collected_on: str = ""
    """UTC date of the evidence, ISO 8601; "" when unknown. Checks must not look at the clock."""

    def lists_gpus(self) -> bool:
        """Whether the driver lists at least one GPU; a driver that answers with a failure lists none.

        Raises:
            AbsentReading: nobody asked the driver, or its answer never came or makes no sense.
        """
        return self.num_gpus.answered() and self.num_gpus.need() > 0

    def has_one_gpu(self) -> bool:
        """Whether the driver lists exactly one GPU, so that nothing can be wrong between GPUs."""
        return self.num_gpus.value == 1 and self.num_gpus.answered()

    def need_gpus(self) -> None:
        """Nothing, when the driver lists a GPU.

        Raises:
            AbsentReading: it lists none, so that nothing can be said about GPUs.
        """
        if not self.lists_gpus():
            raise AbsentReading(Reading("GPU", None, Status.NOT_FOUND, self.num_gpus.quote))
