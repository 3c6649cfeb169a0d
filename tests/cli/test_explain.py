"""`rigwise explain`: codes, names, texts, files and standard input; what it cannot explain it says."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rigwise.explain import explain
from rigwise.explain.codes import explain_code
from rigwise.explain.words import of_check
from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.knowledge.clock_event_reasons import clock_event_reasons
from rigwise.knowledge.error_codes import error_codes
from rigwise.knowledge.sxids import sxids
from rigwise.knowledge.xids import xids
from rigwise.records.explanation import Explanation

Run = Callable[..., subprocess.CompletedProcess[str]]

TRACEBACK = (
    'Traceback (most recent call last):\n  File "train.py", line 42, in <module>\n    loss.backward()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.65 GiB. GPU 0 has a total capacity of 7.79 GiB of "
    "which 0 bytes is free. Of the allocated memory 3.53 GiB is allocated by PyTorch, and 2.30 GiB is reserved by "
    "PyTorch but unallocated.\n"
    "[rank1]:[E321 02:07:08 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600060 milliseconds "
    "before timing out.\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
)
KERNEL = "[ 9876.543210] NVRM: Xid (PCI:0000:41:00): 79, pid=18422, GPU has fallen off the bus.\n"


def is_whole(one: Explanation) -> bool:
    """Whether it says what it means, who is to blame, how sure that is and what to do."""
    return all((one.subject, one.meaning, one.blame, one.certainty, one.fix))


def test_every_xid_is_explained() -> None:
    assert len(xids()) == 172
    for code in xids():
        (one,) = explain_code(f"xid {code}")
        assert one.subject == f"Xid {code}"
        assert is_whole(one), code


def test_every_sxid_is_explained() -> None:
    for code in sxids():
        (one,) = explain_code(f"SXid: {code}")
        assert is_whole(one), code
        assert one.check in check_catalogue()


@pytest.mark.parametrize(("words", "last"), [("xid 999", "172"), ("SXid 1", "30006")])
def test_a_code_in_no_table_is_told_where_the_table_ends(words: str, last: str) -> None:
    report = explain(words)
    assert (report.explanations, report.near) == ((), ())
    assert f" to {last}, read on " in report.beyond


def test_a_reason_that_is_newer_than_the_table_is_blamed_on_nobody() -> None:
    (one,) = explain_code("0x10000")
    assert one.blame == ""


def test_every_clock_event_reason_is_explained() -> None:
    for reason in clock_event_reasons():
        (one,) = explain_code(f"{reason.bit:#x}")
        assert reason.name in one.subject
        assert is_whole(one), reason


def test_every_return_code_is_explained_by_number_and_by_name() -> None:
    for row in error_codes():
        assert any(f"{row.library} {row.code}, {row.name}" in one.subject for one in explain_code(str(row.code)))
        named = explain_code(row.name)
        assert any(row.name in one.subject for one in named)
        assert all(is_whole(one) for one in named), row


@pytest.mark.parametrize("check", list(check_catalogue()))
def test_every_check_is_explained(check: str) -> None:
    one = of_check(check)
    assert one.check == check
    assert one.meaning.startswith(check_catalogue()[check].title)
    assert one.fix == check_catalogue()[check].action


def test_the_gravest_reason_of_a_mask_comes_first() -> None:
    assert [one.subject.split()[-1] for one in explain_code("0x44")] == ["hw_thermal_slowdown", "sw_power_cap"]


def test_a_number_with_several_meanings_lists_each() -> None:
    subjects = " | ".join(one.subject for one in explain_code("79"))
    assert "Xid 79" in subjects
    subjects = " | ".join(one.subject for one in explain_code("8"))
    for meaning in ("NVML 8", "CUDA runtime 8", "cuBLAS 8", "NCCL 8", "Xid 8"):
        assert meaning in subjects


@pytest.mark.parametrize(
    ("written", "subjects"),
    [
        ("XID79", ["Xid 79"]),
        ("Xid (PCI:0000:01:00): 31", ["Xid 31"]),
        ("NVRM: Xid (PCI:0000:01:00): 31, pid=1234, name=python", ["Xid 31"]),
        ("what is xid 13?", ["Xid 13"]),
        ("xid 31,43", ["Xid 31", "Xid 43"]),
        ("Xid 79 and 154", ["Xid 79", "Xid 154"]),
        ("SXid (PCI:0000:c1:00.0): 20034", ["SXid 20034"]),
        ("0X4", ["clock event reason 0x4, sw_power_cap"]),
        ("Active: 0x0000000000000004", ["clock event reason 0x4, sw_power_cap"]),
        ("clocks_throttle_reasons.hw_thermal_slowdown", ["clock event reason 0x40, hw_thermal_slowdown"]),
        ("SW Power Cap", ["clock event reason 0x4, sw_power_cap"]),
        ("HW Power Brake", ["clock event reason 0x80, hw_power_brake_slowdown"]),
        ("gpu idle", ["clock event reason 0x1, gpu_idle"]),
        ("nvml 18", ["NVML 18, NVML_ERROR_LIB_RM_VERSION_MISMATCH"]),
        ("cudnn 8", ["cuDNN up to 8 8, CUDNN_STATUS_EXECUTION_FAILED"]),
        ("nccl error 1", ["NCCL 1, ncclUnhandledCudaError"]),
        ("exit code 137", ["exit status 137, SIGKILL"]),
        ("Exited (137)", ["exit status 137, SIGKILL"]),
        ("exitcode: -11", ["exit status 139, SIGSEGV"]),
        ("killed by signal 9", ["exit status 137, SIGKILL"]),
        ("0xC0000135", ["exit status 3221225781, STATUS_DLL_NOT_FOUND"]),
        ("exit code -1073741819", ["exit status 3221225477, STATUS_ACCESS_VIOLATION"]),
        ("fallen off the bus", ["Xid 79"]),
        ("double bit ecc", ["The GPU's memory returned wrong data"]),
    ],
)
def test_a_code_is_known_however_it_is_written(written: str, subjects: list[str]) -> None:
    assert [one.subject for one in explain(written).explanations] == subjects


@pytest.mark.parametrize(
    "written", ["CUDA error 700", "cuda 700", "CUDA error: 700", "rc=700", "cudaErrorIllegalAddress"]
)
def test_a_cuda_error_is_known_however_it_is_written(written: str) -> None:
    assert "cudaErrorIllegalAddress" in explain(written).explanations[0].subject


@pytest.mark.parametrize(
    ("words", "check"),
    [
        ("illegal memory access", "illegal_memory_access"),
        ("GPU is lost", "gpu_lost"),
        ("OOMKilled", "out_of_ram"),
        ("WinError 1455", "paging_file_small"),
        ("out of memory", "out_of_vram"),
        ("CUDA error: unknown error", "cuda_start_failed"),
        ("nccl timeout", "nccl_timeout"),
    ],
)
def test_words_of_a_known_text_lead_to_its_fault(words: str, check: str) -> None:
    assert explain(words).explanations[0].check == check


@pytest.mark.parametrize("words", ["error", "cuda", "gpu", "xid 999", "hello world"])
def test_words_of_nothing_or_of_everything_are_not_explained(words: str) -> None:
    assert explain(words).explanations == ()


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("CUDA error: no kernel image is available", "framework_arch_missing"),
        ("Torch not compiled with CUDA enabled", "framework_cpu_only"),
        ("DataLoader worker (pid 13) is killed by signal: Bus error.", "shared_memory_small"),
        ('could not select device driver "" with capabilities: [[gpu]]', "container_runtime_missing"),
        ("Failed to initialize NVML: Driver/library version mismatch", "driver_library_mismatch"),
        ("NVRM: RmInitAdapter failed! (0x26:0x56:1474)", "driver_init_failed"),
        ("NVIDIA-SMI has failed because it couldn\u2019t communicate with the NVIDIA driver.", "driver_not_loaded"),
    ],
)
def test_a_line_alone_is_explained(text: str, check: str) -> None:
    assert check in [one.check for one in explain(text).explanations]


def test_the_first_cause_of_a_traceback_leads_and_its_followers_say_so() -> None:
    report = explain(TRACEBACK)
    checks = [one.check for one in report.explanations]
    assert checks == ["out_of_vram", "nccl_timeout", "rank_ended"]
    assert "fragmentation" in report.explanations[0].meaning
    assert [one.follows for one in report.explanations] == ["", "out_of_vram", "out_of_vram"]


def test_a_kernel_log_and_a_traceback_together_lead_with_the_card(rigwise: Run, tmp_path: Path) -> None:
    log = tmp_path / "all.log"
    log.write_text(KERNEL * 3 + "RuntimeError: CUDA error: unspecified launch failure\n")
    done = rigwise("explain", log)
    assert done.returncode == 0
    assert done.stdout.index("gpu_lost") < done.stdout.index("launch_failed")


def test_standard_input(rigwise: Run) -> None:
    for arguments in ((), ("-",)):
        done = rigwise("explain", *arguments, input=TRACEBACK)
        assert done.returncode == 0
        assert "out of memory" in done.stdout
        assert "fragmentation" in done.stdout


def test_a_file_is_read_and_a_text_of_several_words_is_one_text(rigwise: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(TRACEBACK)
    assert "fragmentation" in rigwise("explain", "train.log").stdout
    assert "framework_cpu_only" in rigwise("explain", "Torch", "not", "compiled", "with", "CUDA", "enabled").stdout


def test_a_code_of_two_words(rigwise: Run) -> None:
    done = rigwise("explain", "xid", "79")
    assert done.returncode == 0
    assert done.stdout.startswith("Xid 79\n")
    assert done.stdout.rstrip().splitlines()[-1].startswith("  next  ")


def test_json(rigwise: Run) -> None:
    told = json.loads(rigwise("explain", "--json", "cudaErrorNoDevice").stdout)
    assert told["schema"] == "rigwise.explain/1"
    assert told["explanations"][0]["check"] == "framework_sees_no_gpu"


def test_an_unknown_text_names_what_is_similar_and_exits_with_3(rigwise: Run) -> None:
    done = rigwise("explain", "cudaErrorNoDevise")
    assert done.returncode == 3
    assert "NO_DEVICE" in done.stdout
    assert rigwise("explain", "the weather is fine").returncode == 3
    assert json.loads(rigwise("explain", "--json", "the weather is fine").stdout)["explanations"] == []


def test_terminal_escapes_in_a_text_do_nothing(rigwise: Run) -> None:
    done = rigwise("explain", "-", input="\x1b]0;owned\x07RuntimeError: CUDA error: misaligned address \x1b[2J\n")
    assert "\x1b" not in done.stdout
    assert "launch_failed" in done.stdout


@pytest.mark.parametrize("text", ["", " ", "\x00\x00", "0x", "xid", "xid 99999999", "9" * 400, "{", "[[["])
def test_odd_input_is_answered(text: str, rigwise: Run) -> None:
    done = rigwise("explain", text.replace("\x00", "?"))
    assert done.returncode in (2, 3), done.stderr
    assert "Traceback" not in done.stderr
