"""The guided experiment, E2 to E6: one batch on each device, then full trials, each on what the last one showed.

E1 (the rig) is noted and E7 (the comparison) is drawn by `guided.py`.
"""

from collections.abc import Iterator

import msgspec

from rigwise.records.run import Step, TrialResult
from rigwise.speech import say
from rigwise.train.full_trial import Trained, run_full_trial
from rigwise.train.headroom import why_larger_does_not_fit
from rigwise.train.lab import Lab
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.one_batch import BatchResult
from rigwise.train.step.plan import SMALLEST_BATCH


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of the comparison, and the models of the trials that ran to the end."""

    rows: tuple[TrialResult, ...]
    trained: dict[str, Trained]
    """Trial name -> what it left."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every step of the trials that ran to the end."""
        return tuple(step for trained in self.trained.values() for step in trained.steps)


def run_experiment(lab: Lab) -> Experiment:
    """E2 to E6 on the lab's device; on the CPU when the GPU fails its one-batch test."""
    rows, gpu_failure = prove_one_batch(lab)
    if gpu_failure is not None:
        lab.progress.tell(say("the GPU is not used: {why}", why=gpu_failure))
        lab = msgspec.structs.replace(lab, device=CpuDevice(), no_gpu=gpu_failure)
    if not lab.device.is_gpu:
        rows += [lab.keep(row) for row in _cuda_rows_not_run(lab)]
    trained: dict[str, Trained] = {}
    free_bytes = _free_bytes(lab)
    batch_size = lab.recipe.training.batch_size
    last = rows[-1]
    for precision in lab.precisions:
        added, left = run_full_trial(lab, f"{_kind(lab)} {precision}", precision, batch_size)
        rows += added
        last = added[-1]
        if left is not None:
            trained[last.name] = left
            batch_size = last.batch_size
    if lab.device.no_mixed_precision:
        why = lab.device.no_mixed_precision
        rows.append(lab.keep(_not_run(lab, say("cuda mixed precision"), "fp16", batch_size, why)))
    if lab.device.is_gpu:
        rows += _try_larger(lab, last, free_bytes, trained)
    return Experiment(rows=tuple(rows), trained=trained)


def prove_one_batch(lab: Lab) -> tuple[list[TrialResult], str | None]:
    """E2 and E3: the rows for the CPU and the GPU, and why the GPU must not be used, if so.

    A batch too large for the GPU is halved until it fits: that is no fault of the GPU.
    """
    lab.progress.begin(say("one batch on each device"), None)
    gpu = lab.device if lab.device.is_gpu else None
    batch_size = lab.recipe.training.batch_size
    proof = lab.prove(batch_size, gpu)
    while proof.out_of_memory and batch_size // 2 >= SMALLEST_BATCH:
        batch_size //= 2
        proof = lab.prove(batch_size, gpu)
    lab.progress.end()
    links = proof.report.links
    rows = [lab.keep(_one_batch_row(lab, say("cpu one batch"), "cpu", proof.reference, links[0].text))]
    name = say("cuda one batch")
    if gpu is None:
        return [*rows, lab.keep(_not_run(lab, name, "fp32", batch_size, lab.no_gpu))], None
    broken = proof.report.first_broken
    failure = say("{link}: {text}", link=broken.name, text=broken.text) if broken else None
    if proof.result is None:
        rows.append(lab.keep(_not_run(lab, name, "fp32", batch_size, failure or "")))
    else:
        agreement = next(link.text for link in links if link.name == say("equal to the CPU result"))
        rows.append(lab.keep(_one_batch_row(lab, name, gpu.name, proof.result, failure or agreement)))
    return rows, failure


def _try_larger(lab: Lab, smaller: TrialResult, free_bytes: int, trained: dict[str, Trained]) -> list[TrialResult]:
    """E6: the larger batch in the same precision, only with headroom."""
    larger = lab.recipe.training.larger_batch_size
    name = say("{device} {precision} larger batch", device=_kind(lab), precision=smaller.precision)
    if larger <= smaller.batch_size:
        return []
    why = why_larger_does_not_fit(smaller, larger, free_bytes)
    if why is not None:
        return [lab.keep(_not_run(lab, name, smaller.precision, larger, why))]
    added, left = run_full_trial(lab, name, smaller.precision, larger)
    if left is not None:
        trained[added[-1].name] = left
    return added


def _cuda_rows_not_run(lab: Lab) -> Iterator[TrialResult]:
    training = lab.recipe.training
    yield _not_run(lab, "cuda fp32", "fp32", training.batch_size, lab.no_gpu)
    yield _not_run(lab, say("cuda mixed precision"), "bf16", training.batch_size, lab.no_gpu)
    yield _not_run(lab, say("cuda larger batch"), "bf16", training.larger_batch_size, lab.no_gpu)


def _one_batch_row(lab: Lab, name: str, device: str, batch: BatchResult, note: str) -> TrialResult:
    during = batch.during
    return TrialResult(
        name=name,
        device=device,
        precision="fp32",
        batch_size=len(batch.logits),
        image_size=lab.image_size,
        steps=1,
        step_mean_seconds=batch.seconds,
        peak_allocated_bytes=during.peak_allocated if during else None,
        peak_reserved_bytes=during.peak_reserved if during else None,
        memory_total_bytes=during.total if during else None,
        note=note,
        **lab.measured(len(batch.logits), 1, batch.seconds, None),
    )


def _not_run(lab: Lab, name: str, precision: str, batch_size: int, why: str) -> TrialResult:
    return TrialResult(
        name=name,
        device="cuda",
        precision=precision,
        batch_size=batch_size,
        image_size=lab.gpu_image_size,
        steps=0,
        not_run=why,
    )


def _free_bytes(lab: Lab) -> int:
    memory = lab.device.memory()
    return memory.free if memory else 0


def _kind(lab: Lab) -> str:
    return "cuda" if lab.device.is_gpu else "cpu"
