"""nvidia-smi -q, -L, CSV, dmon and pmon, alone and together; samples as people paste them, with where they are from."""

import time

import pytest

from rigwise.probes.gpu.gpus_from_csv import MOST_ROWS
from rigwise.probes.gpu.gpus_from_smi import READERS, SmiAnswers
from rigwise.records.evidence import Evidence, Status

MIB = 2**20
QUERY = """
==============NVSMI LOG==============

Timestamp                                 : Tue Jul 14 08:12:53 2026
Driver Version                            : 590.48.01
CUDA Version                              : 13.1

Attached GPUs                             : 1
GPU 00000000:00:09.0
    Product Name                          : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                           : Disabled
    GPU UUID                              : GPU-3e4b2a10-1111-2222-3333-444455556666
    PCI
        Bus Id                            : 00000000:00:09.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : 16x
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 19818 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 3 MiB
    Utilization
        GPU                               : 100 %
        Memory                            : 11 %
    ECC Errors
        Volatile
            DRAM Correctable              : 7
            DRAM Uncorrectable            : 0
        Aggregate
            DRAM Correctable              : 9
    Temperature
        GPU Current Temp                  : 59 C
    GPU Power Readings
        Average Power Draw                : N/A
        Instantaneous Power Draw          : 588,39 W
    Module Power Readings
        Instantaneous Power Draw          : 900.00 W
    Clocks
        SM                                : 1980 MHz
    Max Clocks
        SM                                : 1980 MHz
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 11345
            Type                          : C
            Name                          : ./gpu_burn
            Used GPU Memory               : 15690 MiB
"""
"""Cut from the H100 capture of utkuozdemir/nvidia_gpu_exporter (MIT); one decimal comma put in."""


def answers(**texts: str) -> SmiAnswers:
    keys = {"query": "-q", "gpus": "--query-gpu", "apps": "--query-compute-apps", "list": "-L", "version": "--version"}
    return SmiAnswers(
        [
            Evidence(source="command", key=f"nvidia-smi {keys.get(name, name)}", status=Status.OK, text=text)
            for name, text in texts.items()
        ]
    )


@pytest.mark.parametrize("flat", [False, True], ids=["as printed", "indentation lost"])
def test_the_text_of_a_query(flat: bool) -> None:
    text = "\n".join(" ".join(line.split()) for line in QUERY.splitlines()) if flat else QUERY
    smi = answers(query=text)
    (gpu,) = smi.gpus
    assert (smi.num_gpus().value, smi.driver_version().value, smi.cuda_driver_version().value) == (
        1,
        "590.48.01",
        (13, 1),
    )
    assert smi.taken_on() == "2026-07-14"
    assert gpu.memory_total_bytes.value == 81559 * MIB
    assert (gpu.gpu_utilization_ratio.value, gpu.memory_utilization_ratio.value) == (1.0, 0.11)
    assert gpu.power_draw_watts.value == 588.39
    assert (gpu.pcie_link_gen.value, gpu.pcie_link_width.value) == (5, 16)
    assert gpu.clocks_event_reasons.value == 0x4
    assert gpu.mig_enabled.value is False
    assert (gpu.memory_errors.corrected_volatile.value, gpu.memory_errors.corrected_aggregate.value) == (7, 9)
    assert (gpu.sm_clock_mhz.value, gpu.compute_capability.value) == (1980, (9, 0))
    [process] = gpu.processes.need()
    assert (process.name, process.used_bytes) == ("gpu_burn", 15690 * MIB)


def test_slices_of_a_gpu_are_not_the_gpu() -> None:
    sliced = QUERY.replace(
        "    GPU UUID ",
        "    MIG Device\n        Index : 0\n        ECC Errors\n            Volatile\n"
        "                DRAM Correctable : 5000\n        FB Memory Usage\n            Total : 9 MiB\n    GPU UUID ",
    )
    (gpu,) = answers(query=sliced).gpus
    assert gpu.memory_errors.corrected_volatile.value == 7
    assert gpu.memory_total_bytes.value == 81559 * MIB


def test_a_list_with_slices() -> None:
    """Form of the H200 capture of utkuozdemir/nvidia_gpu_exporter (MIT)."""
    text = (
        "GPU 0: NVIDIA H200 (UUID: GPU-8f750be4-0000-1111-2222-333344445555)\n"
        "  MIG 1c.3g.71gb  Device  0: (UUID: MIG-8f750be4-0000-1111-2222-333344445555)\n"
        "GPU 1: NVIDIA H200 (UUID: GPU-9f750be4-0000-1111-2222-333344445555)\n"
    )
    smi = answers(list=text)
    assert [(gpu.index, gpu.name.value, gpu.mig_enabled.value) for gpu in smi.gpus] == [
        (0, "NVIDIA H200", True),
        (1, "NVIDIA H200", None),
    ]


SERIES = """index, timestamp, utilization.gpu [%], utilization.memory [%], memory.total [MiB], memory.used [MiB]
0, 2020/11/12 13:48:11.412, 99 %, 52 %, 32480 MiB, 30994 MiB
0, 2020/11/12 13:48:16.415, 99 %, 90 %, 32480 MiB, 30994 MiB
0, 2020/11/12 13:48:21.417, 99 %, 51 %, 32480 MiB, 30994 MiB
0, 2020/11/12 13:48:26.419, 98 %, 61 %, 32480 MiB, 30994 MiB
0, 2020/11/12 13:48:31.424, 100 %, 88 %, 32480 MiB, 30994 MiB
0, 2020/11/12 13:48:36.427, 32 %, 33 %, 32480 MiB, 30994 MiB
"""
"""A cluster's handbook that shows how to watch a job (public repository, 2020)."""


@pytest.mark.parametrize(
    "text",
    [
        SERIES,
        SERIES.replace(" %", "").replace(" MiB", ""),
        SERIES.replace(", ", ","),
        "\n".join('"' + line.replace(", ", '", "') + '"' for line in SERIES.splitlines()),
        SERIES.replace("\n", "\r\n"),
    ],
    ids=["with units", "nounits", "no blanks", "quoted", "carriage returns"],
)
def test_a_csv_over_time(text: str) -> None:
    (gpu,) = answers(gpus=text).gpus
    samples = gpu.samples.need()
    assert [one.gpu_utilization_ratio for one in samples] == [0.99, 0.99, 0.99, 0.98, 1.0, 0.32]
    assert (gpu.gpu_utilization_ratio.value, gpu.memory_utilization_ratio.value) == (1.0, 0.88)
    assert gpu.memory_used_bytes.value == 30994 * MIB


def test_a_csv_over_time_without_a_number() -> None:
    """A job's log of a cluster's handbook (public repository, 2024)."""
    text = "timestamp, utilization.gpu [%], utilization.memory [%]\n"
    text += "".join(f"2024/09/08 13:03:3{n}.00{n % 2}, {u} %, {u // 4} %\n" for n, u in enumerate((100, 88, 0, 35, 36)))
    (gpu,) = answers(gpus=text).gpus
    assert [one.gpu_utilization_ratio for one in gpu.samples.need()] == [1.0, 0.88, 0.0, 0.35, 0.36]


def test_a_csv_of_several_gpus_and_their_processes() -> None:
    gpus = "name, memory.total [MiB], uuid, ecc.errors.uncorrected.volatile.total, clocks_throttle_reasons.active\n"
    gpus += (
        "Tesla T4, 15109 MiB, GPU-aaaa, 0, 0x0000000000000004\nTesla T4, 15109 MiB, GPU-bbbb, 2, 0x0000000000000001\n"
    )
    apps = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-bbbb, 7, /usr/bin/python3, 900 MiB\n"
    first, second = answers(gpus=gpus, apps=apps).gpus
    assert (first.memory_errors.uncorrected_volatile.value, second.memory_errors.uncorrected_volatile.value) == (0, 2)
    assert (first.clocks_event_reasons.value, second.clocks_event_reasons.value) == (4, 1)
    assert [one.pid for one in second.processes.need()] == [7]
    assert first.processes.status is Status.NOT_RECORDED


def test_processes_that_name_no_gpu_are_those_of_the_only_one() -> None:
    apps = "pid, process_name, used_gpu_memory [MiB]\n7, python, 900 MiB\n"
    assert [one.pid for one in answers(query=QUERY.replace("Processes", "X"), apps=apps).gpus[0].processes.need()]
    listed = "GPU 0: Tesla T4 (UUID: GPU-aaaa)\nGPU 1: Tesla T4 (UUID: GPU-bbbb)\n"
    for gpu in answers(list=listed, apps=apps).gpus:
        assert gpu.processes.status is Status.NOT_RECORDED


DMON = """# gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk
# Idx     W     C     C     %     %     %     %   MHz   MHz
    0    70    48     -     5     1     0     0  7000  1350
    0   270    53     -    10     1     0     0  7000  1875
    0   274    55     -    75    46     0     0  7000  1740
    0   279    56     -    99    63     0     0  7000  1755
    0   281    57     -    85    54     0     0  7000  1740
"""
"""The documentation of NVIDIA Morpheus."""


def test_a_watch() -> None:
    (gpu,) = answers(dmon=DMON).gpus
    assert [one.gpu_utilization_ratio for one in gpu.samples.need()] == [0.05, 0.1, 0.75, 0.99, 0.85]
    assert (gpu.power_draw_watts.value, gpu.sm_clock_mhz.value) == (279, 1755)
    assert gpu.temperature_memory_celsius.status is Status.NOT_RECORDED


def test_of_two_watches_the_busier_one_counts() -> None:
    idle = "# gpu sm\n# Idx %\n" + "    0 0\n" * 5
    (gpu,) = answers(dmon=idle + DMON).gpus
    assert len(gpu.samples.need()) == 5
    (gpu,) = answers(dmon=idle + idle.replace(" 0\n", " 90\n")).gpus
    assert {one.gpu_utilization_ratio for one in gpu.samples.need()} == {0.9}


def test_a_watch_in_which_the_head_comes_again() -> None:
    head = "# gpu sm\n# Idx %\n"
    (gpu,) = answers(dmon=(head + "    0 50\n" * 40) * 3).gpus
    assert len(gpu.samples.need()) == 120


def test_a_long_watch_of_several_gpus_keeps_all_of_them() -> None:
    """Every eighth of the rows would be those of one GPU."""
    rows = [(number % 8, 90 if number % 8 == 5 else 0) for number in range(8 * MOST_ROWS)]
    dmon = "# gpu sm\n# Idx %\n" + "".join(f"    {gpu} {busy}\n" for gpu, busy in rows)
    series = "index, utilization.gpu [%]\n" + "".join(f"{gpu}, {busy} %\n" for gpu, busy in rows)
    for smi in (answers(dmon=dmon), answers(gpus=series)):
        assert [gpu.gpu_utilization_ratio.value for gpu in smi.gpus] == [0, 0, 0, 0, 0, 0.9, 0, 0]
        assert {len(gpu.samples.need()) for gpu in smi.gpus} == {MOST_ROWS // 8}


def test_the_load_and_the_link_are_those_of_one_moment() -> None:
    """An idle link beside a busy GPU would look like a fault that there is not."""
    idle_link = "index, timestamp, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.max\n"
    idle_link += "0, 2026/07/14 07:00:00.000, 1, 5, 16\n"
    (gpu,) = answers(query=QUERY.replace("Current                   : 5", "Now : 5"), gpus=idle_link).gpus
    assert gpu.gpu_utilization_ratio.value == 1.0
    assert gpu.pcie_link_gen.status is Status.NOT_RECORDED
    assert (gpu.pcie_link_gen_max.value, gpu.pcie_link_width_max.value) == (5, 16)


def test_the_same_gpu_is_counted_once() -> None:
    listed = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-3e4b2a10-1111-2222-3333-444455556666)\n"
    smi = answers(query=QUERY, list=listed, dmon=DMON, version="NVIDIA-SMI version  : 590.48.01\n")
    assert len(smi.gpus) == smi.num_gpus().value == 1


@pytest.mark.parametrize("key", READERS)
def test_two_mebibytes_of_anything_take_two_seconds(key: str) -> None:
    samples = (
        QUERY,
        SERIES,
        DMON,
        "| 0 x Off | 00000000:41:00.0 Off | 0 |\n",
        "0 " * 3000 + "\n",
        " " * 200_000 + ":\n",
        " " * 200_000 + "x\n",
        f"| Processes: |\n| 0 1234 C python{' ' * 2000}x |\n",
    )
    for sample in samples:
        text = sample * (2 * MIB // len(sample))
        began = time.process_time()
        SmiAnswers([Evidence(source="command", key=key, status=Status.OK, text=text)])
        assert time.process_time() - began < 2, (key, sample[:40])
