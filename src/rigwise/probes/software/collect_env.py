"""What `torch.utils.collect_env` and its relatives (vLLM's, `transformers-cli env`) say of a machine."""

import re
from typing import Any

import msgspec

from rigwise.knowledge.frameworks import cuda_of_wheel
from rigwise.probes.gpu.smi_views import EXACT_LIST, GpuCells, SmiView, cell
from rigwise.probes.software.framework_transcript import incompatibility
from rigwise.probes.software.packages import frameworks_of, python_packages
from rigwise.records.evidence import Evidence, Status
from rigwise.records.software import Framework, Interpreter
from rigwise.sources.source import Source

KEY = "collect_env"
MOST_CHARACTERS = 2**20
"""A report has some ten thousand; what comes after is not looked at."""
_FIELD = re.compile(r"\s*(?:- )?[`\[]?([A-Za-z][^:\n]{1,60}?)\s*:\s*(.*)")
_RETYPED = re.compile(r"^\s*PyTorch version (\d\S+)\s*$", re.MULTILINE)
_GPU = re.compile(r"(?:^|:)\s*GPU (\d{1,3})(?:: |\uff1a\s?)(.*\S)")
_VARIABLE = re.compile(r"\s*(CUDA_\w+|LD_LIBRARY_PATH|NVIDIA_\w+|PYTORCH_\w+|NCCL_\w+)=(.*)")
_NOTHING = re.compile(r"(could not collect|no cuda|n/?a|none|not installed\b.*|-)?", re.IGNORECASE)
_ERROR = re.compile(r"CUDA initialization: [^\n]{0,400}")


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What one such report tells."""

    interpreter: Interpreter
    gpu_names: tuple[str, ...] = ()
    driver_version: str = ""
    nvcc_version: str = ""


def collected(text: str) -> Collected:
    r"""The report, as far as it goes; several reports as one, where the first to tell something counts.

    >>> report = collected("PyTorch version: 2.1.0+cu121\nIs CUDA available: False\nOS: Ubuntu 22.04.3 LTS (x86_64)\n"
    ...     "GPU models and configuration: GPU 0: NVIDIA A100\nNvidia driver version: 535.104.05")
    >>> report.interpreter.frameworks[0].cuda_available, report.gpu_names, report.driver_version
    (False, ('NVIDIA A100',), '535.104.05')
    >>> collected("- PyTorch version (GPU?): 2.2.1+cu121 (True)").interpreter.frameworks[0].cuda_build
    '12.1'
    """
    text = text[:MOST_CHARACTERS]
    fields = _fields(text)
    if not fields:
        raise ValueError(text)
    packages = python_packages("\n".join(line for line in text.splitlines() if line.lstrip().startswith("[")))
    listed = frameworks_of(packages)
    torch = _torch(fields, text)
    frameworks = (*((torch,) if torch else ()), *(one for one in listed if one.name != "torch"))
    python = re.search(r"\d+\.\d+(\.\d+)?", fields.get("python version", ""))
    environment = {found[1]: found[2].strip() for line in text.splitlines() if (found := _VARIABLE.match(line))}
    return Collected(
        interpreter=Interpreter(
            executable="python",
            version=python[0] if python else "",
            cuda_visible_devices=environment.get("CUDA_VISIBLE_DEVICES"),
            frameworks=frameworks or _of_transformers(fields),
            packages=packages,
            environment=environment,
            os_name=" ".join(fields[name] for name in ("os", "python platform", "platform") if name in fields),
        ),
        gpu_names=tuple({found[1]: found[2] for line in text.splitlines() if (found := _GPU.search(line))}.values()),
        driver_version=_number(fields.get("nvidia driver version", "")),
        nvcc_version=_number(fields.get("cuda runtime version", "")),
    )


def reports_of_gpus(source: Source) -> list[Evidence]:
    """The report, where it lists GPUs or names their driver; else none, for it says nothing of the driver then."""
    answer = source.command([], key=KEY)
    return [answer] if answer.status is Status.OK and views_in_report(answer) else []


def views_in_report(evidence: Evidence) -> list[SmiView]:
    r"""The GPUs and the driver of a report, which takes both from nvidia-smi.

    >>> text = "GPU models and configuration:\nGPU 0: Tesla T4\n\nNvidia driver version: 535.104.05"
    >>> [view] = views_in_report(Evidence(source="command", key=KEY, status=Status.OK, text=text))
    >>> view.gpus[0].cells["product_name"].text, view.log["driver_version"].text
    ('Tesla T4', '535.104.05')
    """
    try:
        report = collected(evidence.text)
    except ValueError:
        return []
    gpus = tuple(
        GpuCells(index=index, cells={"product_name": cell(f"GPU {index}", name)})
        for index, name in enumerate(report.gpu_names)
    )
    log = {"driver_version": cell("Nvidia driver version", report.driver_version)} if report.driver_version else {}
    view = SmiView(evidence=evidence, exactness=EXACT_LIST, gpus=gpus, log=log, numbered=True)
    return [view] if gpus or log else []


def _fields(text: str) -> dict[str, str]:
    """Every `name: value` of the report by its name in lower case, values that say nothing left out."""
    fields: dict[str, str] = {}
    if retyped := _RETYPED.search(text):
        fields["pytorch version"] = retyped[1]
    for line in text.splitlines():
        found = _FIELD.match(line[:1000])
        if found:
            fields.setdefault(" ".join(found[1].lower().split()), found[2].strip())
    return fields


def _told(fields: dict[str, str], name: str) -> str:
    value = fields.get(name, "")
    return "" if _NOTHING.fullmatch(value) else value


def _torch(fields: dict[str, str], text: str) -> Framework | None:
    version = _told(fields, "pytorch version")
    if not version:
        return None
    known: dict[str, Any] = {
        "cuda_build": _told(fields, "cuda used to build pytorch") or cuda_of_wheel(version) or None
    }
    other = _told(fields, "rocm used to build pytorch") or "rocm" in version or "xpu" in version
    if "cuda used to build pytorch" in fields or cuda_of_wheel(version) is not None:
        known["cpu_only"] = not known["cuda_build"] and not other
    known["cuda_available"] = _yes(fields.get("is cuda available", ""))
    if error := _ERROR.search(text):
        known["error"] = error[0].strip()
    return Framework(name="torch", version=version.split()[0], **(known | incompatibility(text)))


def _of_transformers(fields: dict[str, str]) -> tuple[Framework, ...]:
    """The frameworks of `transformers-cli env`: `- PyTorch version (GPU?): 2.2.1+cu121 (True)`."""
    found = []
    for label, name in (("pytorch version (gpu?)", "torch"), ("tensorflow version (gpu?)", "tensorflow")):
        told = re.match(r"(\d\S*)\s*\((\w+)\)", _told(fields, label))
        if told:
            cuda = cuda_of_wheel(told[1]) if name == "torch" else None
            cpu_only = None if cuda is None else cuda == ""
            available = _yes(told[2])
            found.append(
                Framework(
                    name=name, version=told[1], cuda_build=cuda or None, cpu_only=cpu_only, cuda_available=available
                )
            )
    return tuple(found)


def _yes(word: str) -> bool | None:
    return {"true": True, "yes": True, "false": False, "no": False}.get(word.strip().lower())


def _number(text: str) -> str:
    found = re.match(r"\d+(\.\d+)+", text)
    return found[0] if found else ""
