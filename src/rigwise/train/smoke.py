"""The same single batch on the CPU, then on a GPU: a chain of links, the first broken one named.

Tolerances: the two devices sum in another order, so logits may differ by `LOGIT_TOLERANCE` of the largest logit, and
the gradient vector by `GRADIENT_TOLERANCE` of its length. Our choice: two to three orders above fp32 rounding (2^-24
per operation, adding up like its square root), and below what a wrong kernel or a wrong layout gives.
"""

from collections.abc import Iterator, Sequence

import msgspec
import torch
from torch import Tensor, nn

from rigwise.records.smoke import Link, SmokeReport
from rigwise.speech import say
from rigwise.train.fault_line import fault_line
from rigwise.train.step.device import CpuDevice, Device
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.one_batch import BatchResult, Judge, run_one_batch
from rigwise.units import duration, memory

LOGIT_TOLERANCE = 1e-3
GRADIENT_TOLERANCE = 1e-2


class Smoke(msgspec.Struct, frozen=True, kw_only=True):
    """The chain of links, and what was measured on the way."""

    report: SmokeReport
    reference: BatchResult
    """On the CPU."""
    result: BatchResult | None = None
    """On the GPU, where one ran to the end."""
    out_of_memory: bool = False
    """Whether the chain broke only because the batch is too large."""


def smoke(
    model: nn.Module, normalise: Normalise, images: Tensor, labels: Tensor, gpu: Device | None, no_gpu: str
) -> Smoke:
    """The same batch of pictures on the CPU and the GPU, link by link.

    Args:
        model: on the CPU; it ends there too.
        normalise: what the model expects of its pictures.
        images: `(B, 3, H, W)` uint8.
        labels: `(B,)` int64.
        gpu: the device to prove, or None.
        no_gpu: why there is none, in words.
    """

    def judge(model: nn.Module, batch: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        pictures, truth = batch
        logits = model(normalise(pictures))
        return logits, nn.functional.cross_entropy(logits, truth)

    return prove_batch(model, judge, (images, labels), gpu, no_gpu)


def prove_batch(model: nn.Module, judge: Judge, batch: Sequence[Tensor], gpu: Device | None, no_gpu: str) -> Smoke:
    """The same batch on the CPU and the GPU, link by link; arguments as for `smoke`."""
    reference = run_one_batch(model, judge, batch, CpuDevice())
    links = [_finite(say("cpu batch"), reference)]
    if gpu is None:
        links.append(Link(name=say("device available"), ok=False, text=no_gpu))
    if gpu is None or not links[0].ok:
        return Smoke(report=_report(links), reference=reference)
    links.append(Link(name=say("device available"), ok=True, text=gpu.name))
    try:
        result = run_one_batch(model, judge, batch, gpu)
    except RuntimeError as error:
        model.to("cpu")
        links.append(Link(name=say("batch runs on the device"), ok=False, text=_first_words(error)))
        out_of_memory = isinstance(error, torch.OutOfMemoryError)
        return Smoke(report=_report(links), reference=reference, out_of_memory=out_of_memory)
    links += _gpu_links(reference, result, gpu)
    return Smoke(report=_report(links), reference=reference, result=result)


def _first_words(error: RuntimeError) -> str:
    """What was raised, and at which line of the model's own file, if it has one."""
    said, where = str(error).splitlines()[0], fault_line(error)
    return say("{said} ({where})", said=said, where=where) if where else said


def _gpu_links(reference: BatchResult, result: BatchResult, gpu: Device) -> Iterator[Link]:
    kind = gpu.torch_device.type
    where = ", ".join(result.parameters_on)
    yield Link(name=say("parameters on the device"), ok=result.parameters_on == (kind,), text=where)
    yield Link(name=say("batch on the device"), ok=result.batch_on == kind, text=result.batch_on)
    yield _finite(say("forward and backward finite"), result)
    yield _agreement(reference, result)
    if result.before and result.during and result.after:
        yield _memory_link(result.before.allocated, result.during.peak_allocated, result.after.allocated)


def _finite(name: str, result: BatchResult) -> Link:
    finite = bool(torch.isfinite(result.logits).all() and torch.isfinite(result.gradient).all())
    text = say(
        "loss {loss}, gradient length {length}, {seconds} forward and backward",
        loss=f"{result.loss:.4f}",
        length=f"{float(result.gradient.norm()):.4g}",
        seconds=duration(result.seconds),
    )
    return Link(name=name, ok=finite, text=text)


def _agreement(reference: BatchResult, result: BatchResult) -> Link:
    logits = float((reference.logits - result.logits).abs().max() / reference.logits.abs().max().clamp_min(1e-12))
    gradient = float((reference.gradient - result.gradient).norm() / reference.gradient.norm().clamp_min(1e-12))
    # Written so that NaN counts as disagreement.
    agree = logits <= LOGIT_TOLERANCE and gradient <= GRADIENT_TOLERANCE
    text = say(
        "relative difference of logits {logits} (at most {logit_limit}), of gradients {gradient} "
        "(at most {gradient_limit})",
        logits=f"{logits:.2g}",
        logit_limit=f"{LOGIT_TOLERANCE:g}",
        gradient=f"{gradient:.2g}",
        gradient_limit=f"{GRADIENT_TOLERANCE:g}",
    )
    return Link(name=say("equal to the CPU result"), ok=agree, text=text)


def _memory_link(before: int, peak: int, after: int) -> Link:
    text = say(
        "{before} before, {peak} at the peak, {after} after",
        before=memory(before),
        peak=memory(peak),
        after=memory(after),
    )
    return Link(name=say("memory rises and falls"), ok=peak > before and after < peak, text=text)


def _report(links: list[Link]) -> SmokeReport:
    report = SmokeReport(links=tuple(links), next_step=say("rigwise train DATA"))
    broken = report.first_broken
    if broken is None:
        return report
    return SmokeReport(links=report.links, next_step=say("rigwise check"))
