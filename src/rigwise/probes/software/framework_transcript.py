"""Transcripts of people who asked PyTorch, TensorFlow or JAX about the GPU, at a prompt or with `python -c`."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rigwise.knowledge.architectures import capability_of
from rigwise.knowledge.frameworks import cuda_of_wheel
from rigwise.records.software import UNKNOWN_VERSION, Framework

_VERSION = r"(?<![\w./])(\d+\.\d+\.\d[\w.+-]*)"
_CUDA = r"(?<![\w./])(None|\d{1,2}\.\d{1,2})(?![\w./]*\w)"
_BOOL = r"\b(True|False)\b"
_QUESTIONS: tuple[tuple[str, str, str], ...] = (
    ("torch version", r"torch\.__version__", _VERSION),
    ("torch cuda", r"torch\.version\.cuda", _CUDA),
    ("torch available", r"torch\.cuda\.is_available\(\)", _BOOL),
    ("torch count", r"torch\.cuda\.device_count\(\)", r"(?<![\w.])(\d{1,3})(?![\w.])"),
    ("torch capability", r"torch\.cuda\.get_device_capability\(", r"\((\d{1,2}, ?\d)\)"),
    ("torch architectures", r"torch\.cuda\.get_arch_list\(\)", r"(\[[^\]]{0,600}\])"),
    ("torch device", r"torch\.cuda\.get_device_name\(", r"(.*\S)"),
    ("torch mps", r"torch\.backends\.mps\.is_available\(\)", _BOOL),
    ("tensorflow version", r"\b(?:tf|tensorflow)\.__version__", _VERSION),
    ("tensorflow gpus", r"list_physical_devices\(", r"(\[.*\]?|(?:^|[A-Za-z]: {0,4})\d{1,3}\s*$)"),
    ("tensorflow available", r"\btest\.is_gpu_available\(", _BOOL),
    ("onnxruntime version", r"\b(?:ort|onnxruntime)\.__version__", _VERSION),
    ("onnxruntime providers", r"\bget_available_providers\(", r"(\['.*\]?)"),
    ("jax version", r"\bjax\.__version__", _VERSION),
    ("jax devices", r"\bjax\.(?:local_)?devices\(", r"(\[.*\]?)"),
    ("jax backend", r"\bjax\.default_backend\(\)", r"\b(cpu|gpu|cuda|tpu)\b"),
)
"""What is asked, the words that ask it, and what an answer to it looks like."""
_ANSWERS = {field: re.compile(answer) for field, _words, answer in _QUESTIONS}
_LABELLED: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("torch available", re.compile(r"cuda\W{0,3}(?:is[ _])?available(?:\(\))?\W{1,4}(True|False|Yes|No)\b", re.I)),
    ("torch version", re.compile(r"\b(?:py)?torch(?:[ _]version)?\W{1,4}v?" + _VERSION, re.I)),
    ("torch cuda", re.compile(r"\b(?:torch )?cuda(?:[ _]version| build)?\W{1,4}" + _CUDA, re.I)),
    ("torch count", re.compile(r"\b(?:gpu|device)[ _]count\W{1,4}(\d{1,3})\b", re.I)),
)
"""Lines that name what they tell, as scripts print them."""
_UNMISTAKABLE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("tensorflow gpus", re.compile(r"\bnum gpus available\W{1,4}(\d{1,3})\s*$", re.I)),
    ("tensorflow gpus", re.compile(r"^\s*(\[PhysicalDevice\(name='.*)")),
)
"""Such lines whose words are TensorFlow's own, and need no question above them: its log often stands between."""
_CODE = re.compile(
    r"^\s*(?:>>>|\.\.\.|In \[\d+\]:|import |from \w+ import|print\(|python\S* -c|py -c)|\bpython\S* -c\b"
)
_BARE_CUDA = re.compile(r"^\s*(?:>>>|In \[\d+\]:)\s*torch\.version\.cuda\s*$")
_CONDITION = re.compile(r"\bif\b|\bassert\b|\bwhile\b")
_INCOMPATIBLE = re.compile(r"with CUDA capability sm_(\d{2,3}) is not compatible")
_FOUND = re.compile(r"which is of (?:cuda capability|compute capability \(CC\))\s+(\d{1,2})\.(\d)\b")
_SUPPORTED = re.compile(r"supports CUDA capabilities((?:\s+(?:sm|compute)_\d+[af]?,?){1,40})")
_ERROR = re.compile(
    r"CUDA initialization: [^\n]{0,400}|RuntimeError: [^\n]{0,400}|AssertionError: Torch not[^\n]{0,100}"
)
_JULIA_DEVICES = re.compile(
    r"^(\d{1,2}) devices?:[ \t]*\n[ \t]*0: [^\n]{3,60} \(sm_(\d{2,3}), [\d.]{1,12} [GM]iB / ", re.M
)
_JULIA_VERSION = re.compile(r"^[ \t]*- CUDA: (\d+\.\d+\.\d+)", re.M)
_NOT_COMPILED = "Torch not compiled with CUDA enabled"


MOST_CHARACTERS = 2**20
"""A transcript is much shorter; what comes after is not looked at."""
MOST_PENDING = 24
"""Questions of one script that wait for their answers."""


def transcript_frameworks(text: str, *, labelled: bool = True) -> tuple[Framework, ...]:
    r"""What each framework answered, as far as it was asked; `labelled` also reads lines that name what they tell.

    >>> (torch,) = transcript_frameworks(">>> import torch\n>>> torch.__version__\n'2.5.1+cpu'\n"
    ...     ">>> torch.cuda.is_available()\nFalse")
    >>> torch.version, torch.cpu_only, torch.cuda_available
    ('2.5.1+cpu', True, False)
    >>> transcript_frameworks("print(torch.__version__, torch.version.cuda)\n2.9.1+cu128 12.8")[0].cuda_build
    '12.8'
    """
    text = text[:MOST_CHARACTERS]
    told = dict(reversed([*_answers(text, labelled=labelled)]))
    found = (_torch(text, told), _tensorflow(told), _jax(told), _onnxruntime(told), _julia(text))
    return tuple(framework for framework in found if framework is not None)


def _answers(text: str, *, labelled: bool) -> Iterator[tuple[str, str]]:
    """Each answer with what was asked, in the order of the text. A prompt says nothing where a value is None."""
    pending: list[str] = []
    at_prompt = False
    for line in (line[:1000] for line in text.splitlines()):
        if _CODE.search(line):
            if pending == ["torch cuda"] and at_prompt:
                yield "torch cuda", "None"
            at_prompt = _BARE_CUDA.search(line) is not None
            pending = [*pending, *_asked(line)][-MOST_PENDING:] if line.lstrip().startswith("print(") else _asked(line)
            continue
        position = 0
        while pending and (found := _ANSWERS[pending[0]].search(line, position)):
            yield pending.pop(0), found[1]
            position = found.end()
        if position == 0:
            labels = (*_UNMISTAKABLE, *(_LABELLED if labelled else ()))
            yield from ((field, found[1]) for field, label in labels if (found := label.search(line)))


def _asked(line: str) -> list[str]:
    """What a line of code prints, in its order; a condition prints nothing."""
    if _CONDITION.search(line):
        return []
    places = [(found.start(), field) for field, words, _ in _QUESTIONS for found in re.finditer(words, line)]
    return [field for _start, field in sorted(places)]


def _torch(text: str, told: dict[str, str]) -> Framework | None:
    refusal = incompatibility(text)
    error = _ERROR.search(text)
    if not refusal and not any(field.startswith("torch") for field in told) and _NOT_COMPILED not in text:
        return None
    version = told.get("torch version", "")
    cuda = told.get("torch cuda", cuda_of_wheel(version))
    foreign = "rocm" in version or "xpu" in version or _yes(told.get("torch mps")) is True
    cpu_only = _NOT_COMPILED in text or (cuda in ("None", "") and not foreign) or None
    known: dict[str, Any] = {
        "cuda_build": None if cpu_only or foreign else cuda,
        "cpu_only": cpu_only if cpu_only or (cuda is None and not foreign) else False,
        "cuda_available": _yes(told.get("torch available")),
        "device_count": int(told["torch count"]) if "torch count" in told else None,
        "arch_list": tuple(re.findall(r"(?:sm|compute)_\d+[af]?", told.get("torch architectures", ""))),
        "error": error[0].strip() if error else "",
        "asked_for_cuda": True,
    }
    if "torch capability" in told:
        major, minor = told["torch capability"].split(",")
        known["device_capabilities"] = ((int(major), int(minor)),)
    return msgspec.structs.replace(Framework(name="torch", version=version or "?", **known), **refusal)


def incompatibility(text: str) -> dict[str, Any]:
    """What PyTorch's warning about a GPU that it has no code for tells: the GPU's capability and its own list.

    >>> incompatibility("GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch")
    {'device_capabilities': ((12, 0),)}
    """
    known: dict[str, Any] = {}
    devices = {capability_of(digits) for digits in _INCOMPATIBLE.findall(text)}
    devices |= {(int(major), int(minor)) for major, minor in _FOUND.findall(text)}
    if devices:
        known["device_capabilities"] = tuple(sorted(devices))
    supported = _SUPPORTED.search(text)
    if supported and devices:
        known["arch_list"] = tuple(supported[1].replace(",", " ").split())
    return known


def _tensorflow(told: dict[str, str]) -> Framework | None:
    if not any(field.startswith("tensorflow") for field in told):
        return None
    count = _number_of_devices(told["tensorflow gpus"]) if "tensorflow gpus" in told else None
    return Framework(
        name="tensorflow",
        version=told.get("tensorflow version", "?"),
        cuda_available=_yes(told.get("tensorflow available")) if count is None else count > 0,
        device_count=count,
        asked_for_cuda=True,
    )


def _number_of_devices(answer: str) -> int:
    """How many GPUs a list names, or its length.

    >>> _number_of_devices("[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]")
    1
    >>> _number_of_devices("Num GPUs Available: 2")
    2
    """
    length = re.search(r"\d+$", answer.strip())
    return int(length[0]) if length else answer.count(":GPU:")


def _jax(told: dict[str, str]) -> Framework | None:
    devices = told.get("jax devices", told.get("jax backend"))
    if devices is None:
        return None
    available = re.search(r"cuda|gpu", devices, re.I) is not None
    version = told.get("jax version", "?")
    return Framework(name="jax", version=version, cuda_available=available, asked_for_cuda=True)


def _onnxruntime(told: dict[str, str]) -> Framework | None:
    """ONNX Runtime lists the providers that it was built with (onnxruntime.get_available_providers).

    >>> found = _onnxruntime({"onnxruntime providers": "['AzureExecutionProvider', 'CPUExecutionProvider']"})
    >>> found.cpu_only, found.cuda_available
    (True, False)
    """
    providers = told.get("onnxruntime providers")
    if providers is None:
        return None
    has_cuda = "CUDAExecutionProvider" in providers or "TensorrtExecutionProvider" in providers
    other_gpu = any(name in providers for name in ("ROCM", "MIGraphX", "Dml", "CoreML", "OpenVINO", "QNN"))
    return Framework(
        name="onnxruntime",
        version=told.get("onnxruntime version", UNKNOWN_VERSION),
        cpu_only=not has_cuda if not other_gpu else None,
        cuda_available=has_cuda,
        asked_for_cuda=not other_gpu,
    )


def _julia(text: str) -> Framework | None:
    r"""CUDA.jl lists its devices (CUDA.versioninfo).

    >>> found = _julia("- CUDA: 5.8.3\n1 device:\n  0: Quadro RTX 4000 (sm_75, 7.601 GiB / 8.000 GiB available)")
    >>> found.version, found.device_count, found.device_capabilities
    ('5.8.3', 1, ((7, 5),))
    """
    devices = _JULIA_DEVICES.search(text)
    if devices is None:
        return None
    version = _JULIA_VERSION.search(text)
    return Framework(
        name="CUDA.jl",
        version=version[1] if version else UNKNOWN_VERSION,
        cuda_available=int(devices[1]) > 0,
        device_count=int(devices[1]),
        device_capabilities=(capability_of(devices[2]),),
        asked_for_cuda=True,
    )


def _yes(word: str | None) -> bool | None:
    return None if word is None else word.lower() in ("true", "yes")
