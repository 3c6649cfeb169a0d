"""What people paste about their software stack: reports, transcripts, package lists, Docker."""

import pytest
from checks.overlay import Answer, Case, OverlaySource
from hypothesis import given
from hypothesis import strategies as st

from rigwise.probes.rig import read_rig
from rigwise.probes.software.collect_env import collected
from rigwise.probes.software.container_engine import read_container_engine
from rigwise.probes.software.docker import info_fields, inspected_containers
from rigwise.probes.software.driver import device_permissions, module_names, read_device_node
from rigwise.probes.software.framework_transcript import transcript_frameworks
from rigwise.probes.software.interpreter import read_interpreter
from rigwise.probes.software.packages import frameworks_of, python_packages, system_packages
from rigwise.probes.software.stack import read_stack
from rigwise.records.evidence import Status
from rigwise.records.finding import Verdict
from rigwise.records.software import Framework

BLACKWELL = """
Collecting environment information...
/home/mm/anaconda3/envs/py312/lib/python3.12/site-packages/torch/cuda/__init__.py:235: UserWarning:
NVIDIA GeForce RTX 5090 D with CUDA capability sm_120 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.
If you want to use the NVIDIA GeForce RTX 5090 D GPU with PyTorch, please check the instructions
  warnings.warn(
PyTorch version: 2.6.0+cu126
Is debug build: False
CUDA used to build PyTorch: 12.6
ROCM used to build PyTorch: N/A

OS: Ubuntu 24.10 (x86_64)
Python version: 3.12.9 | packaged by Anaconda, Inc. | (main, Feb  6 2025, 18:56:27) [GCC 11.2.0] (64-bit runtime)
Python platform: Linux-6.11.0-21-generic-x86_64-with-glibc2.40
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 5090 D
Nvidia driver version: 570.124.04
"""
"""https://github.com/pytorch/pytorch/issues/150733"""
VLLM = """
==============================
        System Info
==============================
OS                           : Ubuntu 22.04.5 LTS (x86_64)
==============================
       PyTorch Info
==============================
PyTorch version              : 2.7.0+cu128
Is debug build               : False
CUDA used to build PyTorch   : 12.8
ROCM used to build PyTorch   : N/A
==============================
      Python Environment
==============================
Python version               : 3.12.10 (main, Apr  9 2025, 08:55:05) [GCC 11.4.0] (64-bit runtime)
Python platform              : Linux-6.6.72+-x86_64-with-glibc2.35
==============================
       CUDA / GPU Info
==============================
Is CUDA available            : True
CUDA runtime version         : 12.8.93
GPU models and configuration : Could not collect
==============================
Versions of relevant libraries
==============================
[pip3] nvidia-cublas-cu12==12.8.3.14
[pip3] torch==2.7.0+cu128
CUDA_VISIBLE_DEVICES=0
LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64
"""
"""https://github.com/vllm-project/vllm/issues/19184; variables as vLLM prints them (vllm/collect_env.py)."""
CPU_BUILD = """
PyTorch version: 1.7.1+cpu
Is debug build: False
CUDA used to build PyTorch: Could not collect
ROCM used to build PyTorch: N/A

OS: Microsoft Windows 10 Home Single Language
Python version: 3.7 (64-bit runtime)
Is CUDA available: False
"""
"""https://github.com/pytorch/pytorch/issues/49325"""
MANY_GPUS = """
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
Is CUDA available: True
GPU models and configuration:
GPU 0: NVIDIA A100 80GB PCIe
GPU 1: NVIDIA A100 80GB PCIe

Nvidia driver version: 525.60.13
"""
"""https://github.com/vllm-project/vllm/issues/15592"""


def pasted(commands: dict[str, Answer], files: dict[str, Answer] | None = None) -> OverlaySource:
    """A source that holds nothing but these outputs."""
    return OverlaySource(Case(why="", expect=Verdict.OK, commands=commands, files=files or {}))


def torch_of(text: str) -> Framework:
    (framework,) = collected(text).interpreter.frameworks
    return framework


def test_a_report_with_pytorch_s_own_warning() -> None:
    torch = torch_of(BLACKWELL)
    assert (torch.version, torch.cuda_build, torch.cuda_available) == ("2.6.0+cu126", "12.6", True)
    assert torch.device_capabilities == ((12, 0),)
    assert torch.arch_list == ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")


def test_a_report_describes_the_rig() -> None:
    rig = read_rig(pasted({"collect_env": MANY_GPUS}))
    assert [gpu.name.value for gpu in rig.gpus] == ["NVIDIA A100 80GB PCIe"] * 2
    assert (rig.num_gpus.value, rig.driver_version.value) == (2, "525.60.13")


def test_a_report_without_gpus_says_nothing_of_the_driver() -> None:
    rig = read_rig(pasted({"collect_env": CPU_BUILD}))
    assert rig.num_gpus.status is Status.NOT_RECORDED
    assert rig.interpreter.value is not None


def test_vllm_s_report_has_spaces_before_its_colons() -> None:
    report = collected(VLLM)
    assert report.interpreter.frameworks[0].cuda_build == "12.8"
    assert report.interpreter.version == "3.12.10"
    assert report.nvcc_version == "12.8.93"
    assert report.interpreter.cuda_visible_devices == "0"
    assert [package.name for package in report.interpreter.packages] == ["nvidia-cublas-cu12", "torch"]
    assert read_stack(pasted({"collect_env": VLLM})).nvcc_version.value == "12.8"


def test_a_cpu_build_in_a_report() -> None:
    torch = torch_of(CPU_BUILD)
    assert (torch.cpu_only, torch.cuda_build, torch.cuda_available) == (True, None, False)


def test_a_build_for_rocm_is_no_cpu_build() -> None:
    torch = torch_of(
        "PyTorch version: 2.5.1+rocm6.2\nCUDA used to build PyTorch: N/A\nROCM used to build PyTorch: 6.2.1"
    )
    assert (torch.cpu_only, torch.cuda_build) == (False, None)


def test_a_report_without_pytorch_has_no_pytorch() -> None:
    report = collected("PyTorch version: N/A\nCUDA used to build PyTorch: N/A\nOS: Ubuntu 22.04")
    assert report.interpreter.frameworks == ()


def test_the_report_of_transformers() -> None:
    text = "- PyTorch version (GPU?): 2.2.1+cpu (False)\n- Tensorflow version (GPU?): 2.15.0 (True)\n- Platform: Linux"
    torch, tensorflow = collected(text).interpreter.frameworks
    assert (torch.cpu_only, torch.cuda_available) == (True, False)
    assert (tensorflow.name, tensorflow.cuda_available) == ("tensorflow", True)


@pytest.mark.parametrize(
    "text",
    [
        ">>> import torch\n>>> torch.__version__\n'2.5.1+cu121'\n>>> torch.version.cuda\n'12.1'\n"
        ">>> torch.cuda.is_available()\nFalse",
        'python -c "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"\n'
        "2.5.1+cu121 12.1 False",
        "In [2]: print(torch.__version__); print(torch.version.cuda); print(torch.cuda.is_available())\n"
        "2.5.1+cu121\n12.1\nFalse",
        "print(f'PyTorch: {torch.__version__}')\nprint(f'CUDA: {torch.version.cuda}')\n"
        "print('available', torch.cuda.is_available())\nPyTorch: 2.5.1+cu121\nCUDA: 12.1\navailable False",
        "PyTorch version: 2.5.1+cu121\nCUDA version: 12.1\nCUDA available: False",
    ],
    ids=["prompt", "one line", "notebook", "script", "labels"],
)
def test_a_transcript_in_many_shapes(text: str) -> None:
    (torch,) = transcript_frameworks(text)
    assert (torch.version, torch.cuda_build, torch.cuda_available) == ("2.5.1+cu121", "12.1", False)
    assert torch.cpu_only is False
    assert torch.asked_for_cuda


def test_a_transcript_of_a_cpu_build() -> None:
    (torch,) = transcript_frameworks("print(torch.__version__, torch.version.cuda)\n2.9.1 None")
    assert (torch.cpu_only, torch.cuda_build) == (True, None)
    (told,) = transcript_frameworks("AssertionError: Torch not compiled with CUDA enabled")
    assert told.cpu_only


def test_code_that_only_uses_cuda_if_it_is_there_asks_nothing() -> None:
    assert transcript_frameworks("device = 'cuda' if torch.cuda.is_available() else 'cpu'\nEpoch 1: True") == ()


def test_tensorflow_and_jax_answer_with_lists() -> None:
    text = ">>> tf.config.list_physical_devices('GPU')\n[]\n>>> jax.devices()\n[CpuDevice(id=0)]"
    tensorflow, jax = transcript_frameworks(text)
    assert (tensorflow.cuda_available, tensorflow.device_count) == (False, 0)
    assert (jax.name, jax.cuda_available) == ("jax", False)
    (found,) = transcript_frameworks("print(jax.devices())\n[cuda(id=0), cuda(id=1)]")
    assert found.cuda_available is True


def test_what_a_transcript_leaves_out_the_package_list_tells() -> None:
    answers: dict[str, Answer] = {
        "torch probe": ">>> torch.cuda.is_available()\nFalse",
        "pip list": "Package Version\n------- -------\ntorch   2.5.1+cpu\nnvidia-ml-py 12.560.30",
        "env": "HOME=/home/ada\nCUDA_VISIBLE_DEVICES=1\n",
    }
    interpreter = read_interpreter(pasted(answers)).need()
    (torch,) = interpreter.frameworks
    assert (torch.version, torch.cpu_only, torch.cuda_available) == ("2.5.1+cpu", True, False)
    assert interpreter.cuda_visible_devices == "1"


@pytest.mark.parametrize(
    ("line", "cuda", "cpu_only"),
    [
        ("torch 2.5.1+cu124", "12.4", False),
        ("torch==2.5.1+cpu", None, True),
        ("torch 2.11.0", None, None),
        ("pytorch  2.1.2  py3.10_cuda11.8_cudnn8.7.0_0  pytorch", "11.8", False),
        ("pytorch  2.5.1  cpu_generic_py312_h1_5  conda-forge", None, True),
        ("pytorch  2.5.1  cuda126_generic_py312_h1_200  conda-forge", "12.6", False),
    ],
)
def test_a_package_list_tells_the_build(line: str, cuda: str | None, cpu_only: bool | None) -> None:
    (torch,) = frameworks_of(python_packages(line))
    assert (torch.cuda_build, torch.cpu_only) == (cuda, cpu_only)


def test_a_runtime_package_tells_the_cuda_of_a_bare_version() -> None:
    (torch,) = frameworks_of(python_packages("torch==2.5.1\nnvidia-cuda-runtime-cu12==12.4.127"))
    assert torch.cuda_build == "12.4"


def test_tensorflow_and_jax_in_a_package_list() -> None:
    frameworks = frameworks_of(python_packages("tensorflow 2.17.0\njax 0.9.0\njax-cuda13-plugin 0.9.0"))
    assert [(one.name, one.cuda_build, one.cpu_only) for one in frameworks] == [
        ("tensorflow", "12.3", None),
        ("jax", "13", False),
    ]


def test_driver_packages_of_three_package_managers() -> None:
    assert [one.name for one in system_packages("ii  nvidia-driver-535:amd64  535.1-0  amd64  x")] == [
        "nvidia-driver-535"
    ]
    assert [one.name for one in system_packages("nvidia-open-570.86.15-1.el9.x86_64")] == ["nvidia-open"]
    assert [one.name for one in system_packages("local/nvidia-utils 570.86.16-1\n    Drivers")] == ["nvidia-utils"]


def test_device_files_as_ls_lists_them() -> None:
    text = "crw-rw---- 1 root video 195, 0 Nov 30 10:00 /dev/nvidia0\ncrw------- 1 root root 195, 255 x /dev/nvidiactl"
    assert device_permissions(text) == {"nvidia0": "readable and writable", "nvidiactl": "not readable, not writable"}
    none = "ls: cannot access '/dev/nvidia*': No such file or directory"
    assert read_device_node(pasted({"ls /dev": none})).status is Status.NOT_FOUND
    assert read_device_node(pasted({"ls /dev": text}), "/dev/dxg").status is Status.NOT_RECORDED


def test_lsmod_and_uname_describe_the_host() -> None:
    uname = "Linux box 5.15.153.1-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux"
    host = read_rig(
        pasted({"lsmod": "Module Size Used by\nnvidia_uvm 1 0\nnvidia 5 2 nvidia_uvm", "uname -a": uname})
    ).host
    assert host.loaded_modules.value == ("nvidia_uvm", "nvidia")
    assert host.wsl.value is True
    assert module_names("Module                  Size  Used by") == ()


def test_lspci_shows_the_cards_and_what_is_not_told() -> None:
    line = "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684] (rev a1)"
    (plain,) = read_rig(pasted({"lspci": line})).pci_gpus.need()
    assert (plain.device_id, plain.driver, plain.driver_told) == ("10de:2684", "", False)
    (held,) = read_rig(pasted({"lspci": line + "\n\tKernel driver in use: nouveau"})).pci_gpus.need()
    assert (held.driver, held.driver_told) == ("nouveau", True)


def test_the_module_s_kind_from_modinfo() -> None:
    assert (
        read_stack(pasted({"modinfo nvidia": "license:        Dual MIT/GPL\nversion: 570.86"})).open_module.value
        is True
    )
    assert read_stack(pasted({"modinfo nvidia": "license:        NVIDIA"})).open_module.value is False


def test_docker_is_not_asked_where_no_daemon_runs() -> None:
    files: dict[str, Answer] = {
        path: {"status": "not_found"} for path in ("/run/docker.pid", "/run/snap.docker/docker.pid")
    }
    engine = read_container_engine(pasted({"docker info": "Server:\n Server Version: 1"}, files=files))
    assert engine.version.status is Status.NOT_SUPPORTED


def test_a_folder_that_may_not_be_read_is_no_empty_one() -> None:
    hidden: dict[str, Answer] = {"/etc/cdi": {"status": "not_permitted"}, "/var/run/cdi": {"status": "not_found"}}
    assert read_container_engine(pasted({}, files=hidden)).cdi_devices.status is Status.NOT_PERMITTED
    missing: dict[str, Answer] = {path: {"status": "not_found"} for path in hidden}
    assert read_container_engine(pasted({}, files=missing)).cdi_devices.value == ()


def test_docker_info_that_reached_no_daemon_is_unreadable() -> None:
    text = (
        "Client:\n Version: 27.3.1\nServer:\nERROR: Cannot connect to the Docker daemon at unix:///var/run/docker.sock."
    )
    assert read_container_engine(pasted({"docker info": text})).version.status is Status.UNREADABLE


def test_a_quota_in_either_spelling() -> None:
    quota = '[{"Name": "/a", "HostConfig": {"CpuQuota": 150000, "CpuPeriod": 100000}}]'
    nano = '[{"Name": "/b", "HostConfig": {"NanoCpus": 500000000, "Runtime": "nvidia"}}]'
    first, second = inspected_containers(f"{quota}\n{nano}")
    assert (first.num_cpus_limit, first.gpus_asked) == (1.5, False)
    assert (second.num_cpus_limit, second.gpus_asked) == (0.5, True)


@pytest.mark.parametrize("text", ["[" * 100_000, '[{"HostConfig": 3}]', "[{", '{"ServerVersion": 3}', "\0"])
def test_damaged_json_is_unreadable(text: str) -> None:
    engine = read_container_engine(pasted({"docker inspect": text, "docker info": text}))
    assert engine.version.status is Status.UNREADABLE
    assert engine.containers.value in (None, ())


@given(st.text(alphabet=" \n[]{}():=.,'\"cuTFalsetorch.__version__0123456789GPU>-", max_size=400))
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in (collected, info_fields, inspected_containers, device_permissions):
        try:
            parse(text)
        except (ValueError, LookupError):
            continue
    assert isinstance(transcript_frameworks(text), tuple)
    assert isinstance(frameworks_of(python_packages(text)), tuple)
    assert isinstance(system_packages(text), tuple)
