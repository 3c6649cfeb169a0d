"""The tables of nvidia-smi and of NVIDIA's copy tests, as they were really printed, cut and garbled."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigwise.probes.topology.copy_tests import parse_host_copies, parse_pair_copies
from rigwise.probes.topology.lspci import link_end, parse_devices
from rigwise.probes.topology.numa import as_ranges, parse_lscpu, parse_numactl
from rigwise.probes.topology.nvlink_status import parse_link_errors, parse_link_speeds
from rigwise.probes.topology.topo_matrix import parse_matrix, parse_peer_access
from rigwise.records.topology import LinkEnd

PARSERS = (
    parse_matrix,
    parse_peer_access,
    parse_link_speeds,
    parse_link_errors,
    parse_devices,
    parse_pair_copies,
    parse_host_copies,
    parse_lscpu,
    parse_numactl,
)
H20_NODE = """\
        GPU0    GPU1    NIC0    NIC1    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      SYS     PIX     SYS     0-55,112-167    0               N/A
GPU1    SYS      X      SYS     PIX     56-111,168-223  1               N/A
NIC0    PIX     SYS      X      SYS
NIC1    SYS     PIX     SYS      X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def test_the_matrix_with_network_cards() -> None:
    matrix = parse_matrix(H20_NODE)
    assert list(matrix.pairs()) == [(0, 1, "SYS")]
    assert matrix.cpu_affinity == {0: "0-55,112-167", 1: "56-111,168-223"}
    assert matrix.numa_affinity == {0: "0", 1: "1"}
    assert matrix.num_nics == 2


def test_the_matrix_of_one_gpu_with_underlined_heading() -> None:
    matrix = parse_matrix("\t\x1b[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\nGPU0\t X \t0-19\t0\t\tN/A\n")
    assert (matrix.gpus, list(matrix.pairs()), matrix.numa_affinity) == ((0,), [], {0: "0"})


def test_the_matrix_of_an_old_driver() -> None:
    matrix = parse_matrix("\tGPU0\tGPU1\tmlx4_0\tCPU Affinity\nGPU0\t X \tSOC\tPHB\t0-9\nGPU1\tSOC\t X \tSOC\t10-19\n")
    assert list(matrix.pairs()) == [(0, 1, "SOC")]
    assert matrix.numa_affinity == {}


def test_a_cut_matrix_keeps_its_rows() -> None:
    cut = H20_NODE[: H20_NODE.index("GPU1    SYS") + 14]
    assert list(parse_matrix(cut).pairs()) == [(0, 1, "SYS")]


def test_no_affinity_where_none_is_told() -> None:
    matrix = parse_matrix("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPHB\tN/A\tN/A\nGPU1\tPHB\t X \t\t\n")
    assert (matrix.cpu_affinity, matrix.numa_affinity) == ({}, {})


def test_a_refusal_in_one_table_stays() -> None:
    table = " \tGPU0\tGPU1\t\n GPU0\tX\t{0}\t\n GPU1\t{0}\tX\t\n"
    for first, second in (("OK", "CNS"), ("CNS", "OK")):
        access = parse_peer_access(table.format(first) + table.format(second))
        assert list(access.pairs()) == [(0, 1, "CNS")]


def test_windows_has_no_matrix() -> None:
    with pytest.raises(LookupError):
        parse_matrix("ERROR: Option -m is missing its value. Please run 'nvidia-smi -h' for help.")


def test_speeds_of_inactive_links() -> None:
    (one, other) = parse_link_speeds(
        "GPU 0: NVIDIA B200 (UUID: GPU-1)\r\n\t Link 0: 53.125 GB/s\r\n\t Link 1: <inactive>\r\n"
        "GPU 1: NVIDIA B200 (UUID: GPU-2)\r\nNVML: Unable to retrieve NVLink information as all links are inActive\r\n"
    )
    assert (one.active(), one.inactive()) == (1, (1,))
    assert (other.name, other.links) == ("NVIDIA B200", ())


def test_counters_of_both_generations() -> None:
    old, new = parse_link_errors(
        "GPU 0: NVIDIA H100\n\t Link 0: Replay Errors: 2\n\t Link 0: CRC Errors: 7\n"
        "\t Link 1: Tx discards: 5\n\t Link 1: FEC Errors - 0: 17941761\n\t Link 1: Symbol BER: 15e-255\n"
        "\t Link 1: Link recovery failed events: 1\n"
    )
    assert old.counts == {"replay": 2, "crc": 7}
    assert new.counts == {"transmit discard": 5, "recovery failed": 1}


def test_lspci_names_card_bridge_and_link() -> None:
    bridge, card, switch = parse_devices(
        "00:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Raphael GPP Bridge\n"
        "\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n"
        "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
        "0000:01:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)\n"
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)\n"
        "00000005:00:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:1af1] (rev a1)\n"
    )
    assert (bridge.secondary_bus, bridge.redirects, bridge.is_nvidia_gpu) == ("0000:01", True, False)
    assert (bridge.is_above(card.address), bridge.is_above(switch.address)) == (True, False)
    assert (card.name, card.chip, card.device_id, card.is_nvidia_gpu) == ("A100 PCIe 40GB", "GA100", "10de:20f1", True)
    assert link_end(card) == LinkEnd(gen=4, width=8, gen_max=4, width_max=16, narrowed=True)
    assert (switch.address, switch.is_nvidia_gpu) == ("0005:00:00.0", False)


def test_lspci_without_root_hides_the_link() -> None:
    heading = "01:00.0 VGA compatible controller: NVIDIA Corporation Device 2684 (rev a1)"
    (card,) = parse_devices(f"{heading}\n\tCapabilities: <access denied>")
    assert (card.name, card.chip) == ("", "")
    with pytest.raises(LookupError):
        link_end(card)


def test_a_link_that_is_down_has_no_width() -> None:
    (card,) = parse_devices("01:00.0 3D controller: NVIDIA Corporation\n\tLnkSta: Speed unknown, Width x0")
    assert link_end(card) == LinkEnd()


@pytest.mark.parametrize(
    "line",
    [
        "NUMA node0 CPU(s):                  0-15,32-47",
        "NUMA-Knoten0 CPU(s):                0-15,32-47",
        "CPU(s) del nodo NUMA 0:             0-15,32-47",
        "Nœud NUMA 0 de processeur(s) :      0-15,32-47",
        "NUMA 节点0 CPU\N{FULLWIDTH COLON}   0-15,32-47",
    ],
)
def test_lscpu_in_any_language(line: str) -> None:
    assert [(node.node, node.cpus) for node in parse_lscpu(f"NUMA node(s): 1\n{line}\n")] == [(0, "0-15,32-47")]


def test_numactl_of_a_node_without_cpus() -> None:
    text = "available: 2 nodes (0,4)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 128 MB\nnode 4 cpus:\nnode distances:\n"
    assert [(node.node, node.cpus) for node in parse_numactl(text)] == [(0, "0-3"), (4, "")]


@given(st.sets(st.integers(0, 500)))
def test_ranges_hold_every_cpu(cpus: set[int]) -> None:
    parts = [part.partition("-") for part in as_ranges(list(cpus)).split(",") if part]
    assert {n for first, _, last in parts for n in range(int(first), int(last or first) + 1)} == cpus


def test_bandwidth_test_of_an_old_toolkit() -> None:
    (copies,) = parse_host_copies(
        "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: Tesla K20c\n Quick Mode\n\n"
        " Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
        "   Transfer Size (Bytes)        Bandwidth(MB/s)\n   33554432                     6038.7\n\n"
        " Device to Host Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
        "   Transfer Size (Bytes)        Bandwidth(MB/s)\n   33554432                     6553.5\n\n"
        " Device to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
        "   Transfer Size (Bytes)        Bandwidth(MB/s)\n   33554432                     146996.4\n"
    )
    assert (copies.name, copies.to_gpu, copies.from_gpu) == ("Tesla K20c", pytest.approx(6.0387), pytest.approx(6.5535))


def test_nvbandwidth_of_several_gpus() -> None:
    copies = parse_host_copies(
        "Device 0: NVIDIA GeForce RTX 4090\nDevice 1: NVIDIA GeForce RTX 4090\n\nRunning host_to_device_memcpy_ce.\n"
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n          0         1\n0     25.50     24.26\n\n"
        "SUM host_to_device_memcpy_ce 49.76\n\nRunning device_to_host_memcpy_ce.\n"
        "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n          0         1\n0     26.77     N/A\n\n"
        "Running host_to_device_bidirectional_memcpy_ce.\n          0         1\n0     11.24     14.42\n"
    )
    assert [(one.gpu, one.to_gpu, one.from_gpu) for one in copies] == [(0, 25.5, 26.77), (1, 24.26, None)]


def test_pairs_that_refuse() -> None:
    copies = parse_pair_copies("Device=0 CANNOT Access Peer Device=1\nDevice=1 CANNOT Access Peer Device=0\n")
    assert copies.refused == ((0, 1), (1, 0))


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
@given(text=st.text(alphabet="GPU0123456789 \t\n:.,x-<>[]()LinkNVX/sdeviceC=", max_size=200))
def test_any_text_is_parsed_or_refused(parse: object, text: str) -> None:
    assert callable(parse)
    try:
        parse(text)
    except (LookupError, ValueError):
        return


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
@pytest.mark.parametrize(
    "line", ["GPU0 X NV4 ", "0 " * 40, "NVIDIA [" * 20, "Link 0: ", "00:01.0 x secondary=", " " * 80]
)
def test_a_long_text_takes_little_time(parse: object, line: str) -> None:
    assert callable(parse)
    began = time.process_time()
    for text in (line * (10**6 // len(line)), (line + "\n") * (10**6 // len(line))):
        try:
            parse(text)
        except (LookupError, ValueError):
            continue
    assert time.process_time() - began < 5
