"""Everything a source knows about a machine, as one `Rig`. Works with every answer absent."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from rigwise.probes.deep import read_deep
from rigwise.probes.gpu import gpus_from_nvml as nvml
from rigwise.probes.gpu.gpus_from_smi import SmiAnswers, read_smi
from rigwise.probes.gpu.processes import name_processes
from rigwise.probes.host.counter_looks import look_twice
from rigwise.probes.host.cpu import read_cpu
from rigwise.probes.host.firmware import read_firmware
from rigwise.probes.host.host import read_host
from rigwise.probes.host.memory import read_free, read_memory
from rigwise.probes.host.network import read_network
from rigwise.probes.host.storage import read_storage
from rigwise.probes.kernel.kernel_events import read_log_events
from rigwise.probes.kernel.kernel_log import read_kernel_log
from rigwise.probes.programs.profile_table import read_profile
from rigwise.probes.programs.program_output import (
    read_allocation_failures,
    read_broke_off,
    read_named_driver,
    read_program_output,
    read_refused_cuda,
    read_told,
    read_told_by_frameworks,
)
from rigwise.probes.software.container_engine import read_container_engine
from rigwise.probes.software.driver import read_device_node, read_kernel_driver_version
from rigwise.probes.software.interpreter import read_interpreter
from rigwise.probes.software.stack import read_stack
from rigwise.probes.topology.pci import read_pci_gpus
from rigwise.probes.topology.topology import read_topology
from rigwise.records.deep import DeepLook
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu
from rigwise.records.reading import Reading, absent
from rigwise.records.rig import Rig
from rigwise.records.software import Interpreter
from rigwise.records.told import AllocationFailure, Told
from rigwise.sources.source import Source


class DriverAnswers(NamedTuple):
    """What the driver says of itself and its GPUs, whoever was asked."""

    nvml: Reading[str]
    num_gpus: Reading[int]
    gpus: tuple[Gpu, ...]
    driver_version: Reading[str]
    cuda_driver_version: Reading[tuple[int, int]]


class ProgramAnswers(NamedTuple):
    """What programs printed, and what was recognised in it."""

    program_output: Reading[str]
    told: tuple[Told, ...]
    allocation_failures: Reading[tuple[AllocationFailure, ...]]
    broke_off: Reading[str]


def _from_programs(
    output: Reading[str], kernel_log: Reading[tuple[str, ...]], interpreter: Reading[Interpreter]
) -> ProgramAnswers:
    return ProgramAnswers(
        program_output=output,
        told=read_told(output, kernel_log) + read_told_by_frameworks(interpreter),
        allocation_failures=read_allocation_failures(output),
        broke_off=read_broke_off(output),
    )


def read_rig(source: Source, *, python: str | None = None, deep: bool = False, data_folder: str = ".") -> Rig:
    """The machine at this moment.

    `python` is the interpreter whose frameworks are asked; `deep` adds the active probes, or what a recording holds
    of them; the disk that is measured then is that of `data_folder`.
    """
    asked = AskedSource(source)
    looks = look_twice(asked, deep=deep)  # first, while nothing of ours computes
    with ThreadPoolExecutor(1, "framework-probe") as pool:
        interpreter = pool.submit(read_interpreter, asked, python)
        smi = None if _answers_nvml(asked) else read_smi(asked)
        driver = _from_nvml(asked) if smi is None else _from_smi(asked, smi)
        kernel_log, output = read_kernel_log(asked), read_program_output(asked)
        driver = _with_what_is_named(driver, output)
        return Rig(
            **driver._asdict(),
            kernel_driver_version=read_kernel_driver_version(asked),
            pci_gpus=read_pci_gpus(asked),
            device_nodes=read_device_node(asked),
            wsl_device=read_device_node(asked, "/dev/dxg"),
            firmware=read_firmware(asked, kernel_log),
            host=read_free(asked, read_host(asked)),
            interpreter=interpreter.result(),
            kernel_log=kernel_log,
            log_events=read_log_events(asked, kernel_log),
            cpu=read_cpu(asked, looks, driver.gpus),
            memory=read_memory(asked, looks),
            storage=read_storage(asked, looks),
            network=read_network(asked, looks),
            topology=read_topology(asked),
            container_engine=read_container_engine(asked),
            stack=read_stack(asked),
            **_from_programs(output, kernel_log, interpreter.result())._asdict(),
            profile=read_profile(asked),
            deep=read_deep(asked, python, data_folder) if deep else DeepLook(),
            hung=asked.hung(),
            collected_on=asked.collected_on() or (smi.taken_on() if smi else ""),
        )


def _answers_nvml(source: Source) -> bool:
    """Whether the source knows what NVML says, if only that it failed."""
    return any(source.nvml(key).status is not Status.NOT_RECORDED for key in ("Init", "DeviceGetCount"))


def _from_nvml(source: Source) -> DriverAnswers:
    num_gpus = nvml.read_num_gpus(source)
    return DriverAnswers(
        nvml=nvml.read_nvml_version(source),
        num_gpus=num_gpus,
        gpus=name_processes(source, nvml.read_gpus(source, num_gpus)),
        driver_version=nvml.read_driver_version(source),
        cuda_driver_version=nvml.read_cuda_driver_version(source),
    )


def _from_smi(source: Source, smi: SmiAnswers) -> DriverAnswers:
    return DriverAnswers(
        nvml=smi.nvml(),
        num_gpus=smi.num_gpus(),
        gpus=name_processes(source, smi.gpus),
        driver_version=smi.driver_version(),
        cuda_driver_version=smi.cuda_driver_version(),
    )


def _with_what_is_named(driver: DriverAnswers, output: Reading[str]) -> DriverAnswers:
    """The driver's versions as somebody wrote them down, where it was not asked itself."""
    if driver.cuda_driver_version.status is Status.NOT_RECORDED:
        driver = driver._replace(cuda_driver_version=read_refused_cuda(output))
    if driver.driver_version.status is Status.NOT_RECORDED:
        driver = driver._replace(driver_version=read_named_driver(output))
    return driver


class AskedSource:
    """A source that remembers which questions hung, and when it was asked."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._answers: list[Evidence] = []

    @property
    def name(self) -> str:
        """The source's own name."""
        return self._source.name

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """The source's answer."""
        return self._kept(self._source.nvml(name, gpu))

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """The source's answer."""
        return self._kept(self._source.command(argv, key=key, timeout_seconds=timeout_seconds))

    def file(self, path: str) -> Evidence:
        """The source's answer."""
        return self._kept(self._source.file(path))

    def kernel_log(self) -> Evidence:
        """The source's answer."""
        return self._kept(self._source.kernel_log())

    def program_output(self) -> Evidence:
        """The source's answer."""
        return self._kept(self._source.program_output())

    def hung(self) -> tuple[Reading[Any], ...]:
        """One reading for each question that hung, the driver's first; after one NVML call all others wait for it."""
        late = [answer for answer in self._answers if answer.status is Status.TIMED_OUT]
        driver = [answer for answer in late if answer.source == "nvml"][:1]
        others = [answer for answer in late if answer.source != "nvml"]
        return tuple(absent(answer.key, answer) for answer in (*driver, *others))

    def collected_on(self) -> str:
        """The UTC date of the evidence, ISO 8601; "" where no answer has one."""
        return max((answer.collected_at[:10] for answer in self._answers), default="")

    def _kept(self, answer: Evidence) -> Evidence:
        self._answers.append(answer)
        return answer
