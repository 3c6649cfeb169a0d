"""GPUs as `nvidia-smi -L` lists them: number, name and UUID; slices of a GPU (MIG) stand below it and are left out."""

import re

from rigwise.probes.gpu.smi_views import EXACT_LIST, Cell, GpuCells, SmiView, cell
from rigwise.records.evidence import Evidence

GPU = re.compile(
    r"^\s*GPU\s+(\d{1,3})\s*:\s*(\S.{0,80}?)\s*\(\s*UUID\s*:\s*(?:(GPU-[0-9a-fA-F-]{4,40})(?![\w*])|(?!MIG)\S)",
    re.MULTILINE,
)
"""People mask the UUID: `GPU-xxxx`, `GPU-****`, `<redacted>`; the GPU is listed all the same."""
MIG = re.compile(r"^\s*MIG\s+\S+", re.MULTILINE)


def views_in_list(evidence: Evidence) -> list[SmiView]:
    r"""One view of every GPU listed; none where the text lists none.

    >>> text = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6)\n  MIG 1g.5gb Device 0: (UUID: MIG-1)\n"
    >>> [view] = views_in_list(Evidence(source="command", key="nvidia-smi -L", status="ok", text=text))
    >>> view.gpus[0].cells["product_name"].text, view.gpus[0].cells["mig_mode/current_mig"].text
    ('NVIDIA A100-SXM4-40GB', 'Enabled')
    >>> masked = "GPU 0: NVIDIA H100 (UUID: GPU-xxxx)\nGPU 1: NVIDIA H100 (UUID: GPU-xxxx)\n"
    >>> [view] = views_in_list(Evidence(source="command", key="nvidia-smi -L", status="ok", text=masked))
    >>> len(view.gpus), "uuid" in view.gpus[0].cells
    (2, False)
    """
    found = list(GPU.finditer(evidence.text))
    ends = [*(one.start() for one in found[1:]), len(evidence.text)]
    gpus = {int(one[1]): _gpu(one, evidence.text[one.end() : end]) for one, end in zip(found, ends, strict=False)}
    listed = tuple(gpus.values())
    return [SmiView(evidence=evidence, exactness=EXACT_LIST, gpus=listed, numbered=True)] if listed else []


def _gpu(found: re.Match[str], below: str) -> GpuCells:
    line = found[0].strip()
    cells = {"product_name": Cell(found[2], line)}
    if found[3]:
        cells["uuid"] = Cell(found[3], line)
    sliced = MIG.findall(below)
    if sliced:
        cells["mig_mode/current_mig"] = cell(sliced[0].strip(), "Enabled")
        cells["num_mig_devices"] = cell("MIG devices", str(len(sliced)))
    return GpuCells(index=int(found[1]), cells=cells)
