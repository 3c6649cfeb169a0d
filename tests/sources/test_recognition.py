"""Each kind of evidence is told in a text, however it was pasted; and no line is lost or told twice."""

import html
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rigwise.knowledge.kinds_of_evidence import KERNEL_LOG, Kind, kinds_of_evidence
from rigwise.sources.recognition.cleaning import cleaned
from rigwise.sources.recognition.cutting import cuts, recognise
from rigwise.sources.recognition.decoding import decoded
from rigwise.sources.recognition.pieces import PROGRAM_OUTPUT, Pieces
from rigwise.sources.recognition.sections import sections

KINDS = kinds_of_evidence()
TOLD_BY_CONTENT = [kind for kind in KINDS if kind.starts]
each_kind = pytest.mark.parametrize("kind", TOLD_BY_CONTENT, ids=lambda kind: kind.key)
HELP = "nvidia-smi --help"
"""Prose, so that it goes on with any prose below it."""


def answers(pieces: Pieces) -> dict[str, str]:
    """Every piece by its key."""
    others = {KERNEL_LOG: pieces.kernel_log, PROGRAM_OUTPUT: pieces.program_output}
    return pieces.commands | pieces.files | {key: text for key, text in others.items() if text is not None}


def told(text: str) -> dict[str, str]:
    return answers(recognise(text))


def words(text: str) -> list[str]:
    return text.split()


@each_kind
def test_a_sample_is_told_as_a_whole_and_as_nothing_else(kind: Kind) -> None:
    assert told(kind.sample) == {kind.key: kind.sample.strip("\n")}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.starts], ids=lambda kind: kind.key)
def test_what_content_does_not_tell_is_told_by_the_line_above(kind: Kind) -> None:
    above = f"==> {kind.key} <==" if kind.is_file else f"$ {kind.key}"
    assert told(f"{above}\n{kind.sample}\n") == {kind.key: kind.sample}
    assert PROGRAM_OUTPUT in told(kind.sample)


def prefixed(prefix: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{prefix}{line}\n" for line in text.split("\n"))


PASTED = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "quoted": prefixed("> "),
    "quoted twice": prefixed("> > "),
    "fenced": lambda text: f"```console\n{text}\n```\n",
    "fenced in a list": lambda text: f"1. see\n\n   ```\n{text}\n   ```\n",
    "tildes": lambda text: f"~~~\n{text}\n~~~",
    "prompts": lambda text: f"user@rig:~$ \n{text}\nuser@rig:~$ ",
    "html": lambda text: f"<details>\n<summary>see</summary>\n<pre>\n{html.escape(text)}\n</pre>\n</details>\n",
    "colours": lambda text: re.sub(r"(?m)^(?=.)", "\x1b[32m", text).replace("\n", "\x1b[0m\n"),
    "title": lambda text: f"\x1b]0;user@rig: ~\x07{text}",
    "actions": prefixed("2026-11-30T12:00:00.1234567Z "),
    "compose": lambda text: prefixed("trainer-1  | ")(f"{text}\n\n\n\nWhat now?"),
    "byte order mark": lambda text: "\ufeff" + text,
    "between words": lambda text: f"It is slow.\n\n{text}\n\nWhat now?",
}


@pytest.mark.parametrize("paste", PASTED.values(), ids=PASTED)
@each_kind
def test_a_sample_is_told_however_it_is_pasted(kind: Kind, paste: Callable[[str], str]) -> None:
    found = told(paste(kind.sample))
    around = set(words(found.pop(PROGRAM_OUTPUT, "")))
    assert around <= set(words("1. see It is slow. What now?"))
    if kind.key == HELP:
        found[HELP] = found[HELP].removesuffix("What now?")
    assert {key: words(text) for key, text in found.items()} == {kind.key: words(kind.sample)}


SHARED = {
    "capture_h100_gpuburn_590.txt": {"nvidia-smi": 40, "nvidia-smi -q": 520, "nvidia-smi dmon": 14},
    "capture_h200_mig_590.txt": {"nvidia-smi -L": 6, "nvidia-smi nvlink -s": 2, "nvidia-smi --query-gpu": 4},
    "capture_rtx2080super_linux_595.txt": {"nvidia-smi --version": 4, "nvidia-smi topo -m": 10},
    "capture_rtx2080super_windows_591.txt": {"nvidia-smi pmon": 118, "nvidia-smi --query-compute-apps": 24},
    "capture_rtx4080super_linux_595.txt": {"nvidia-smi --query-gpu": 4, "nvidia-smi --query-retired-pages": 6},
    "fabricmanager_sxid12028.log": {"/var/log/fabricmanager.log": 77},
    "lspci_nn_a100.txt": {"lspci": 31},
    "nvlink_status_a100.txt": {"nvidia-smi nvlink -s": 104},
    "proc_diskstats.txt": {"/proc/diskstats": 51},
    "proc_loadavg.txt": {"/proc/loadavg": 1},
    "proc_meminfo.txt": {"/proc/meminfo": 42},
    "proc_net_netstat.txt": {"/proc/net/netstat": 4},
    "proc_net_softnet_stat.txt": {"/proc/net/softnet_stat": 4},
    "proc_pressure_cpu.txt": {"/proc/pressure/cpu": 2},
    "proc_pressure_io.txt": {"/proc/pressure/io": 2},
    "proc_pressure_memory.txt": {"/proc/pressure/memory": 2},
    "proc_stat.txt": {"/proc/stat": 16},
    "proc_vmstat.txt": {"/proc/vmstat": 120},
}
"""Lines that are not empty of each key in the captures next door, counted by hand or with grep."""


@pytest.mark.parametrize("name", SHARED)
def test_captures_are_cut_into_their_keys(name: str, shared: Path) -> None:
    text = decoded((shared / "evidence" / name).read_bytes())
    assert text is not None
    found = {
        key: sum(1 for line in piece.split("\n") if line.strip())
        for key, piece in answers(recognise(text, name)).items()
    }
    assert found.items() >= SHARED[name].items()
    assert name.startswith("capture") or found == SHARED[name]


def test_help_texts_are_not_taken_for_answers(shared: Path) -> None:
    for capture in sorted((shared / "evidence").glob("capture_*.txt")):
        found = told(capture.read_text())
        assert "List of valid properties" in found["nvidia-smi --help"]
        assert not any("Section about" in text for key, text in found.items() if key != "nvidia-smi --help")


@pytest.mark.parametrize("paste", ["crlf", "quoted", "fenced", "colours", "html"])
def test_captures_are_told_however_they_are_pasted(paste: str, shared: Path) -> None:
    for name in ("capture_h200_mig_590.txt", "smi_gb200x4_grace.xml", "dmesg_xid119_gsp.log", "lspci_nn_a100.txt"):
        text = cleaned((shared / "evidence" / name).read_text())
        pasted = told(PASTED[paste](text))
        assert {key: words(piece) for key, piece in told(text).items() if key != PROGRAM_OUTPUT} == {
            key: words(piece) for key, piece in pasted.items() if key != PROGRAM_OUTPUT
        }


@pytest.mark.parametrize(
    "prompt",
    ["$ ", "# ", "user@host:~$ ", "(base) user@host:~/x$ ", "[root@node01 ~]# ", "root@4f2c1a90b3d7:/workspace# ",
     "PS C:\\Users\\x> ", "C:\\Users\\x>", "(venv) PS C:\\x> ", "% ", "user@mac x % ", "!", "+ "],
)  # fmt: skip
def test_a_prompt_says_what_is_below_it(prompt: str) -> None:
    assert told(f"{prompt}uname -r\n6.8.0-45-generic\n") == {"uname -a": "6.8.0-45-generic"}


@pytest.mark.parametrize(
    "heading",
    ["uname -r:", "**uname -r**", "### Output of `uname -r`", "`uname -r`", "=== uname -r ===", "/usr/bin/uname -r",
     "- uname -r:", "1. `uname -r`:", "sudo uname -r"],
)  # fmt: skip
def test_a_heading_says_what_is_below_it(heading: str) -> None:
    assert told(f"{heading}\n```\n6.8.0-45-generic\n```\n") == {"uname -a": "6.8.0-45-generic"}


def test_content_decides_where_the_prompt_says_something_else() -> None:
    assert told("$ lspci\nGPU 0: Tesla T4 (UUID: GPU-1)\n") == {"nvidia-smi -L": "GPU 0: Tesla T4 (UUID: GPU-1)"}


@pytest.mark.parametrize(
    "error",
    ["bash: nvidia-smi: command not found", "NVIDIA-SMI has failed because it couldn't communicate with the driver.",
     "Failed to initialize NVML: Driver/library version mismatch", "No devices were found"],
)  # fmt: skip
def test_an_error_is_program_output_with_its_command(error: str) -> None:
    assert told(f"$ nvidia-smi\n{error}\n") == {PROGRAM_OUTPUT: f"$ nvidia-smi\n{error}"}


def test_a_transcript_keeps_its_statements_and_leaves_its_traceback() -> None:
    found = told(
        ">>> import torch\n>>> torch.cuda.is_available()\n/x/cuda/__init__.py:107: UserWarning: CUDA initialization\n"
        "  return torch._C._cuda_getDeviceCount() > 0\nFalse\n>>> torch.zeros(1).cuda()\n"
        'Traceback (most recent call last):\n  File "<stdin>", line 1, in <module>\n'
        "RuntimeError: No CUDA GPUs are available\n>>> torch.version.cuda\n'12.1'\n"
    )
    assert found["torch probe"].split("\n") == [
        ">>> import torch", ">>> torch.cuda.is_available()", "False", ">>> torch.zeros(1).cuda()",
        ">>> torch.version.cuda", "'12.1'",
    ]  # fmt: skip
    assert "RuntimeError: No CUDA GPUs are available" in found[PROGRAM_OUTPUT]
    assert "UserWarning" in found[PROGRAM_OUTPUT]


def test_a_command_that_belongs_to_its_answer_is_kept() -> None:
    command = "python3 -c 'import torch; print(torch.cuda.is_available())'"
    assert told(f"$ {command}\nFalse\n") == {"torch probe": f"{command}\nFalse"}
    assert told("$ export CUDA_VISIBLE_DEVICES=-1\n$ ") == {"env": "export CUDA_VISIBLE_DEVICES=-1"}
    rows = "$ nvidia-smi --query-gpu=name,memory.total --format=csv,noheader\nNVIDIA A100, 81920 MiB\n"
    assert told(rows) == {"nvidia-smi --query-gpu": "name,memory.total\nNVIDIA A100, 81920 MiB"}


BUG_REPORT = """\
____________________________________________

Start of NVIDIA bug report log file.  Please include this file, along
with a detailed description of your problem, when reporting a graphics

uname: Linux rig 6.0.1-arch2-1 #1 SMP PREEMPT_DYNAMIC Thu, 13 Oct 2022 18:58:49 +0000 x86_64 GNU/Linux
____________________________________________

*** /sys/bus/pci/devices/0000:01:00.0/power/control
*** ls: -rw-r--r-- 1 root root 4096 2022-10-27 20:48:36.350700867 -0300 /sys/bus/pci/devices/0000:01:00.0/power/control
auto

____________________________________________

*** /proc/driver/nvidia/version
*** ls: -r--r--r-- 1 root root 0 2022-10-27 20:48:36.350700867 -0300 /proc/driver/nvidia/version
NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.56.06  Thu Oct  6 21:38:55 UTC 2022

____________________________________________

/usr/bin/lspci -d "10de:*" -v -xxx

01:00.0 VGA compatible controller: NVIDIA Corporation GA106M [GeForce RTX 3060 Mobile] (rev a1)
	Kernel driver in use: nvidia
00: de 10 20 25 07 04 10 00 a1 00 00 03 10 00 80 00

____________________________________________

*** /proc/cmdline does not exist

____________________________________________

/usr/bin/nvidia-smi --query


==============NVSMI LOG==============

Timestamp                                 : Thu Oct 27 20:50:12 2022
Driver Version                            : 520.56.06
____________________________________________

Scanning kernel log files for NVIDIA kernel messages:

  journalctl -b -0:
oct 27 20:48:17 rig kernel: nvidia: loading out-of-tree module taints kernel.
oct 27 20:48:19 rig kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  520.56.06
____________________________________________

End of NVIDIA bug report log file.
"""


def test_a_bug_report_of_the_driver_is_cut_at_its_headings() -> None:
    found = told(BUG_REPORT)
    assert found["/sys/bus/pci/devices/0000:01:00.0/power/control"] == "auto"
    assert found["/proc/driver/nvidia/version"].endswith("2022")
    assert found["lspci"].count("\n") == 2
    assert found["nvidia-smi -q"].startswith("==============NVSMI LOG")
    assert found[KERNEL_LOG].count("\n") == 1
    assert set(found) - {PROGRAM_OUTPUT} == {
        "/sys/bus/pci/devices/0000:01:00.0/power/control", "/proc/driver/nvidia/version", "lspci", "nvidia-smi -q",
        KERNEL_LOG, "uname -a",
    }  # fmt: skip


KERNEL_LINES = [
    "[    1.000000] usb 1-1: new device",
    "[   12.345678] [   T123] NVRM: loading",
    "[Sun Feb 23 16:24:18 2025] usb 1-1: new device",
    "[So Feb 23 16:24:18 2025] usb 1-1: new device",
    "[日 2月 23 16:24:18 2025] usb 1-1: new device",
    "[Nov30 13:02] usb 1-1: new device",
    "[  +0.000012] usb 1-1: new device",
    "2026-11-30T13:02:44,283302+00:00 usb 1-1: new device",
    "2026-11-30T13:02:44+0000 rig kernel: usb 1-1: new device",
    "2026-11-30T13:02:44.283302+01:00 rig kernel: [ 12.0] usb 1-1: new device",
    "2026-11-30 13:02:44 rig kernel: usb 1-1: new device",
    "Nov 30 13:02:44 rig kernel: usb 1-1: new device",
    "déc. 01 13:02:44 rig kernel: usb 1-1: new device",
    "11月 30 13:02:44 rig kernel: usb 1-1: new device",
    "Mon 2026-11-30 13:02:44 UTC rig kernel: usb 1-1: new device",
    "1764507764.283302 rig kernel: usb 1-1: new device",
    "kern  :warn  : [ 12.0] usb 1-1: new device",
    "<6>[   12.000000] usb 1-1: new device",
    "6,3964,206764307,-;usb 1-1: new device",
    "NVRM: Xid (PCI:0000:41:00): 79, pid=18422, GPU has fallen off the bus.",
    "pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0",
    "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 5: bea0000000000108",
]


@pytest.mark.parametrize("line", KERNEL_LINES)
def test_kernel_log_lines_in_any_style(line: str) -> None:
    assert told(line) == {KERNEL_LOG: line}


@pytest.mark.parametrize(
    "line",
    ["Nov 30 13:02:45 rig python[123]: RuntimeError: CUDA error", "[    12.345] (EE) NVIDIA(0): Failed to initialize",
     "2026-11-30 13:02:44,123 INFO training started", "[2026-11-30 13:02:44] step 100 loss 0.5",
     "2026-11-30T13:02:44.123Z ERROR vllm: out of memory", "I0404 10:00:00.123 12 nvc.c:1] x", "[rank0]: NCCL error"],
)  # fmt: skip
def test_other_logs_are_no_kernel_log(line: str) -> None:
    assert told(line) == {PROGRAM_OUTPUT: line}


FREE_AND_DF = {
    "de": "              gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\n"
    "Speicher:       31Gi       4,1Gi        20Gi       1,0Gi       6,9Gi        26Gi\nAuslager:   2,0Gi  0B  2,0Gi",
    "fr": "               total       utilisé      libre     partagé tamp/cache   disponible\n"
    "Mem:        32773596     4175520    20951244     1069360     7646832    27066324\n"
    "Partition d'échange:     2097148           0     2097148",
    "es": "               total        usado       libre  compartido   búf/caché  disponible\n"
    "Mem:           31962        4100       20480        1024        7501       26000\nInter:   2047   0   2047",
    "zh": "              total        used        free      shared  buff/cache   available\n"
    "内存:      32081        4100       20480         1024        7501       26000\n交换:   2047   0   2047",
}


@pytest.mark.parametrize("text", FREE_AND_DF.values(), ids=FREE_AND_DF)
def test_free_in_other_languages(text: str) -> None:
    assert told(text) == {"free": text}


@pytest.mark.parametrize(
    ("key", "first_line"),
    [
        ("lscpu", "Architektur:                x86_64"),
        ("lscpu", "架构\uff1a                    x86_64"),
        ("df", "Dateisystem    Größe Benutzt Verf. Verw% Eingehängt auf"),
        ("df", "Sys. de fichiers blocs de 1K  Utilisé Disponible Uti% Monté sur"),
        ("df", "文件系统        容量  已用  可用 已用% 挂载点"),
        ("mpstat", "13:02:03     CPU    %usr   %nice    %sys %iowait    %irq   %soft"),
        ("iostat", "Gerät             tps    kB_read/s    kB_wrtn/s"),
    ],
)
def test_headings_in_other_languages(key: str, first_line: str) -> None:
    assert told(first_line) == {key: first_line}


def test_a_table_read_from_a_picture() -> None:
    table = (
        "NVIDIA-SMI 535.54.03 Driver Version: 535.54.03 CUDA Version: 12.2\n"
        "GPU Name Persistence-M I Bus-Id Disp.A I Volatile Uncorr. ECC\n"
        "Fan Temp Perf Pwr:Usage/Cap I Memory-Usage I GPU-Util Compute M.\n"
        "0 NVIDIA GeForce RTX 4090 Off I 00000000:01:00.0 On I Off\n"
        "30% 45C P8 25W / 450W I 1200MiB / 24564MiB I 2% Default\nI N/A\n"
        "Processes:\nGPU GI CI PID Type Process name GPU Memory\n0 N/A N/A 1234 G /usr/lib/xorg/Xorg 300MiB"
    )
    assert told(f"{table}\n\nit hangs after that") == {"nvidia-smi": table, PROGRAM_OUTPUT: "it hangs after that"}


fragments = st.sampled_from(
    [*(kind.sample for kind in KINDS), *KERNEL_LINES, "", "```", "> ", "$ nvidia-smi", "__________", "==> /proc/x <==",
     ">>> ", "Traceback (most recent call last):", "<pre>", "&lt;", "\x1b[0m", "|", "\t", "GPU 0:", "False"]
)  # fmt: skip
pastes = st.lists(st.one_of(fragments, st.text(max_size=40)), max_size=8).map("\n".join)


@given(pastes)
@settings(max_examples=300, deadline=None)
def test_every_line_belongs_to_one_piece_and_nothing_crashes(text: str) -> None:
    clean = cleaned(text)
    below = [line for section in sections(clean) for line in clean[section.start : section.end].split("\n")]
    cut = [line for piece in cuts(text) for line in piece.text.split("\n")]
    for line in set(below):
        if line.strip():
            assert cut.count(line.rstrip()) + cut.count(line) + cut.count(line.strip()) >= below.count(line), line


@given(pastes)
@settings(max_examples=200, deadline=None)
def test_what_was_cut_is_told_again(text: str) -> None:
    content_tells = {kind.key for kind in TOLD_BY_CONTENT if not kind.hinted and not kind.with_command}
    for key, piece in told(text).items():
        if key in content_tells:
            assert key in told(piece)


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes_are_text_or_none(content: bytes) -> None:
    text = decoded(content)
    assert text is None or isinstance(recognise(text), Pieces)


SIZE = 10**6
HOSTILE = {
    "one line": "x" * SIZE,
    "spaces": " " * SIZE,
    "empty lines": "\n" * SIZE,
    "short lines": "a\n" * (SIZE // 2),
    "bars": "|\n" * (SIZE // 2),
    "braces": "{\n" * (SIZE // 2),
    "prompts": "$ nvidia-smi\n" * (SIZE // 13),
    "hints": "$ uname -r\n" * (SIZE // 11),
    "fences": "```\n" * (SIZE // 4),
    "rulers": "########\n" * (SIZE // 9),
    "assignments": "A: b\n" * (SIZE // 5),
    "starts": "GPU 0: x (UUID: a)\n\n\n\n" * (SIZE // 22),
    "headers": "total used free x\n" * (SIZE // 18),
    "commas": "timestamp, " + "a, " * (SIZE // 3),
    "escapes": "\x1b[" * (SIZE // 2),
    "titles": "\x1b]0;" * (SIZE // 4),
    "tags": "<pre " * (SIZE // 5),
    "quotation marks": ">" * SIZE,
    "at signs": "a@b" * (SIZE // 3),
    "kernel": "a kernel:" * (SIZE // 9),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_input_takes_long(text: str) -> None:
    """10 MB in under 5 s on an idle core; ten times that here, for busy machines, still shows what is not linear."""
    before_seconds = time.process_time()
    recognise(text)
    assert time.process_time() - before_seconds < 5


def test_the_markup_around_a_log_goes_and_the_summary_inside_it_stays() -> None:
    """nvidia-smi calls the health of the fabric `summary`, as web pages call a heading."""
    log = "<nvidia_smi_log><fabric><health><summary>Unhealthy</summary></health></fabric></nvidia_smi_log>"
    assert cleaned(f"<details><pre>\n{log}\n</pre></details>") == f"\n{log}\n"


@pytest.mark.parametrize("stamp", ["", "[131453.740743] ", "[111111111.111] "])
def test_a_line_of_an_nvswitch_is_told_whatever_its_stamp(stamp: str) -> None:
    line = f"{stamp}nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error"
    assert told(line) == {KERNEL_LOG: line}


@pytest.mark.parametrize(
    "line",
    [
        '\t\tinput: "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",',
        '\t\t{in: "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.", want: 79},',
        "    events = parse('NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.')",
        'echo "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus." > /dev/kmsg',
        '      description: "NVRM: Xid (PCI:0000:41:00): 79 means that the GPU has fallen off the bus."',
        "- [ ] relevant lines of dmesg, for example `NVRM: Xid (PCI:0000:41:00): 79`",
        'LOG = """\n[ 7211.604409] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"""',
        "cat <<EOF > log\nNVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\nEOF",
    ],
)
def test_a_line_of_a_log_in_source_code_is_no_log(line: str) -> None:
    assert recognise(f"func TestParse(t *testing.T) {{\n{line}\n}}\n").kernel_log is None


@pytest.mark.parametrize(
    "line",
    [
        '{"host": "gpu4", "MESSAGE": "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus."}',
        'time="2026-01-02T03:04:05Z" level=info msg="NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus."',
        "dmesg shows `NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.`",
        "message: 'NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.'",
    ],
)
def test_a_line_of_a_log_in_quotation_marks_is_one(line: str) -> None:
    assert "Xid" in (recognise(f"It happened again.\n{line}\n").kernel_log or "")
