"""What programs and people say, line by line, of the software a program runs on, beside error texts and reports."""

import re

import msgspec

from rigwise.knowledge.architectures import capability_of_name
from rigwise.knowledge.frameworks import cuda_of_wheel
from rigwise.probes.software.framework_transcript import transcript_frameworks
from rigwise.records.software import Framework, Interpreter

MOST_CHARACTERS = 2**20
"""What comes after is not looked at."""
_NAME = r"^[ \t>|*-]{0,12}(?:\[\w+\] )?[*`]{0,2}"
_VALUE = r"[`*]{0,2}[ \t]{0,3}(?:[:\uff1a]|=(?!=))[ \t`*']{0,4}"
_VERSION = r"(\d+\.\d+\.\d[\w.+-]*)"
_FIELDS = {
    name: re.compile(_NAME + words + _VALUE + value, re.IGNORECASE | re.MULTILINE)
    for name, words, value in (
        ("torch", r"(?:py)?torch(?:[ ._]*version|\.__version__)?", "v?" + _VERSION),
        ("cuda", r"(?:py)?torch(?:\.version\.|[ _-])cuda(?:[ _-]build|[ _-]version)?", r"(None|\d{1,2}\.\d{1,2})\b"),
        ("available", r"(?:torch\.)?cuda[ ._]?(?:is[ _])?available(?:\(\))?", r"(True|False|Yes|No)\b"),
        ("python", r"python(?:[ _]version)?", r"(3\.\d{1,2}(?:\.\d{1,2})?)\b"),
        ("gpu", r"(?:gpu|device|graphics card|video card|显卡\w{0,4})(?:[ _](?:name|model|type))?",
         r"(?:cuda:\d{1,2} )?([^\n]{3,80})"),
    )
}  # fmt: skip
_ULTRALYTICS = re.compile(r"\bPython-3\.\d{1,2}\.\d{1,2} torch-" + _VERSION)
"""Its first line: `Ultralytics YOLOv8.0.222 Python-3.11.6 torch-2.1.1+cpu CPU`."""
_BANNER = re.compile(r"^Python (3\.\d{1,2}\.\d{1,2})\b", re.MULTILINE)
_ECHOED = re.compile(
    r"\becho \"?\$\{?(CUDA_VISIBLE_DEVICES|LD_LIBRARY_PATH)\}?\"?[ \t]*\n[ \t]*([^\s$#>]{1,2000})[ \t]*$", re.M
)
_WINDOWS = re.compile(
    r"\b[A-Z]:\\[^\n:]{0,200}?(?:python|site-packages|torch)|\bWindows (?:1[01]|Server)\b", re.IGNORECASE
)
_PLANNED_FOR_CPU = re.compile(
    r"^[ \t+|]{0,8}pytorch[ \t:-]{1,40}(?:\S{1,60}::pytorch-)?(\d{1,2}(?:\.\d{1,4}){1,3})"
    r"[ \t|-]{1,40}(?=\S{0,40}cpu)\S{3,60}",
    re.MULTILINE,
)
"""What conda and mamba are about to install: `pytorch  pytorch/win-64::pytorch-1.10.0-py3.6_cpu_0`."""
_ASKED_FOR_CUDA = re.compile(r"\b(?:cudatoolkit|pytorch-cuda|pytorch-gpu|cuda-version|cuda-toolkit)\b")
_OF_ERROR_TEXTS = re.compile(r"^[^\n]*(?:Driver Version|Torch not compiled with CUDA enabled)[^\n]*$", re.MULTILINE)
"""Lines about the driver's CUDA, and one that signatures read, for manuals quote it too."""


def printed_environment(text: str) -> Interpreter:
    r"""The interpreter as far as lines of output name it.

    >>> text = "- Python: `3.12.13`\n- PyTorch: `2.11.0+cpu`\n- GPU: NVIDIA GeForce RTX 5080 (16 GB)"
    >>> found = printed_environment(text)
    >>> found.version, found.frameworks[0].cpu_only, found.frameworks[0].device_capabilities
    ('3.12.13', True, ((12, 0),))
    >>> planned = "conda install pytorch cudatoolkit=10.1\n  pytorch  pytorch/win-64::pytorch-1.10.0-py3.6_cpu_0\n"
    >>> printed_environment(planned).frameworks[0].cpu_only
    True
    >>> printed_environment("Successfully uninstalled torch-2.11.0+cpu").frameworks
    ()
    """
    text = _OF_ERROR_TEXTS.sub("", text[:MOST_CHARACTERS])
    told = {name: found[1] for name, pattern in _FIELDS.items() if (found := pattern.search(text))}
    if banner := _ULTRALYTICS.search(text):
        told.setdefault("torch", banner[1])
    python, echoed = _BANNER.search(text), dict(_ECHOED.findall(text))
    return Interpreter(
        executable="python",
        version=python[1] if python else told.get("python", ""),
        cuda_visible_devices=echoed.get("CUDA_VISIBLE_DEVICES"),
        environment=echoed,
        frameworks=tuple(_frameworks(text, told)),
        os_name="Windows" if _WINDOWS.search(text) else "",
    )


def _frameworks(text: str, told: dict[str, str]) -> list[Framework]:
    """What was asked at a prompt comes first; then what lines name. Error texts are read elsewhere."""
    asked = [msgspec.structs.replace(one, error="") for one in transcript_frameworks(text, labelled=False)]
    capability = capability_of_name(told.get("gpu", ""))
    capabilities = (capability,) if capability else ()
    if asked and asked[0].name == "torch":
        torch = asked.pop(0)
    elif planned := _planned(text):
        return [*planned, *asked]
    elif "torch" in told:
        torch = Framework(name="torch", version="?", asked_for_cuda="available" in told)
    else:
        return asked
    version = torch.version if torch.version != "?" else told.get("torch", "?")
    wheel = cuda_of_wheel(version)
    cuda = torch.cuda_build or (told.get("cuda") if wheel is None else wheel)
    return [
        msgspec.structs.replace(
            torch,
            version=version,
            cuda_build=None if cuda in (None, "", "None") else cuda,
            cpu_only=torch.cpu_only if cuda is None else cuda in ("", "None"),
            cuda_available=_available(torch, told),
            device_capabilities=torch.device_capabilities or capabilities,
        ),
        *asked,
    ]


def _planned(text: str) -> list[Framework]:
    """The build for the CPU that a package manager chose, and whether the one with CUDA was asked for."""
    found = _PLANNED_FOR_CPU.search(text)
    asked_for_cuda = _ASKED_FOR_CUDA.search(text) is not None
    return [Framework(name="torch", version=found[1], cpu_only=True, asked_for_cuda=asked_for_cuda)] if found else []


def _available(torch: Framework, told: dict[str, str]) -> bool | None:
    if torch.cuda_available is not None or "available" not in told:
        return torch.cuda_available
    return told["available"].lower() in ("true", "yes")
