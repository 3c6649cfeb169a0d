"""Copies, kernels and a short load on every visible GPU. Run as a script by the user's own interpreter.

Prints one JSON object as its last line, whatever happens, within `LIMIT_SECONDS`. Needs Python 3.8, torch, and
nothing of ours. Takes at most 0.5 GiB of VRAM, and leaves alone a GPU that somebody else uses.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

LIMIT_SECONDS = 45.0
"""Less than the caller's limit, so that a hang is told together with what was measured before it."""
LOAD_SECONDS = 10.0
ALL_LOADS_SECONDS = 20.0
"""Several GPUs share it, one after the other: a home supply need not carry all of them at once for us."""
COPY_SECONDS = 0.3
COPY_BYTES = 128 * 2**20
PEER_BYTES = 64 * 2**20
MOST_PEERS = 8
NEEDED_BYTES = 2**30
MATRIX = 4096
BUSY_PERCENT = 10
SAMPLE_MILLISECONDS = 500
FIELDS = (
    "utilization.gpu",
    "power.draw",
    "power.limit",
    "temperature.gpu",
    "clocks.sm",
    "clocks.max.sm",
    "pcie.link.gen.current",
    "pcie.link.gen.max",
    "pcie.link.width.current",
    "pcie.link.width.max",
)
"""Of one sample, followed by the clock event reasons."""
REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
"""The same field, before and after driver 535."""


def main() -> None:
    """Print what was measured; what is known when the limit is reached."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != os.path.dirname(os.path.abspath(__file__))]
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    known: dict[str, Any] = {"framework": "", "error": "", "gpus": [], "peers": []}
    timer = threading.Timer(LIMIT_SECONDS, give_up, [known])
    timer.daemon = True
    timer.start()
    try:
        measure(known)
    except BaseException as failure:
        known["error"] = first_line(failure)
    timer.cancel()
    answer(known)


def give_up(known: dict[str, Any]) -> None:
    """Print what is known and end the process, also when another thread hangs in a driver call."""
    known["error"] = f"no answer after {LIMIT_SECONDS:.0f} s"
    answer(known)
    os._exit(0)


def answer(known: dict[str, Any]) -> None:
    """Print everything that is known as one line of JSON."""
    print("\n" + json.dumps(known), flush=True)


def measure(known: dict[str, Any]) -> None:
    """Fill in what every GPU does, as far as it gets."""
    try:
        import torch
    except ImportError:
        known["error"] = f"{sys.executable} has no torch, which the measurement needs"
        return
    known["framework"] = f"torch {torch.__version__}"
    if not torch.cuda.is_available():
        known["error"] = "no CUDA GPU"
        return
    cards = visible(smi_cards(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    taken = used_by_others(smi("--query-compute-apps=gpu_uuid,pid"), os.getpid())
    num_gpus = torch.cuda.device_count()
    seconds = min(LOAD_SECONDS, ALL_LOADS_SECONDS / num_gpus)
    for device in range(num_gpus):
        card = cards[device] if device < len(cards) else {}
        trial: dict[str, Any] = {
            "gpu": card.get("index", device),
            "uuid": card.get("uuid", ""),
            "name": torch.cuda.get_device_name(device),
        }
        known["gpus"].append(trial)
        try_gpu(torch, device, card, taken, seconds, trial)
    free = [device for device in range(num_gpus) if known["gpus"][device].get("kernel_ok")]
    measure_peers(torch, free[:MOST_PEERS], known)


def try_gpu(
    torch: Any, device: int, card: dict[str, Any], taken: set[str], seconds: float, trial: dict[str, Any]
) -> None:
    """Everything on one GPU, unless somebody uses it."""
    if trial["uuid"] in taken or card.get("utilization", 0) > BUSY_PERCENT:
        trial["skipped"] = "another process uses it"
        return
    try:
        if torch.cuda.mem_get_info(device)[0] < NEEDED_BYTES:
            trial["skipped"] = "less than 1 GiB of VRAM is free"
            return
        trial["kernel_ok"] = False
        trial["kernel_ok"] = kernel_is_right(torch, device)
        trial.update(copy_speeds(torch, device))
        trial.update(load(torch, device, trial["uuid"], seconds))
    except Exception as failure:
        trial["error"] = first_line(failure)
    finally:
        torch.cuda.empty_cache()


def kernel_is_right(torch: Any, device: int) -> bool:
    """Whether a product of two matrices of ones holds only their length."""
    ones = torch.ones(256, 256, device=f"cuda:{device}")
    return bool((ones @ ones == 256).all().item())


def copy_speeds(torch: Any, device: int) -> dict[str, float]:
    """GB/s between the host's memory, pinned and not, and one GPU."""
    on_gpu = torch.empty(COPY_BYTES, dtype=torch.uint8, device=f"cuda:{device}")
    speeds = {}
    for kind, pinned in (("pinned", True), ("pageable", False)):
        on_host = torch.ones(COPY_BYTES, dtype=torch.uint8, pin_memory=pinned)
        for way, target, source in (("to_gpu", on_gpu, on_host), ("from_gpu", on_host, on_gpu)):
            speeds[f"{kind}_{way}"] = speed(torch, (device,), partial(target.copy_, source), COPY_BYTES)
    return speeds


def speed(torch: Any, devices: tuple[int, ...], copy: Callable[[], Any], num_bytes: int) -> float:
    """GB/s (10^9 bytes) of a copy that is repeated until `COPY_SECONDS` are over; the first one does not count."""
    copy()
    wait(torch, devices)
    began, copies = time.perf_counter(), 0
    while time.perf_counter() - began < COPY_SECONDS:
        copy()
        wait(torch, devices)
        copies += 1
    return rate(copies * num_bytes, time.perf_counter() - began, 1e9)


def rate(amount: float, seconds: float, unit: float) -> float:
    """An amount per second, in a unit, three digits after the point."""
    return round(amount / max(seconds, 1e-9) / unit, 3)


def wait(torch: Any, devices: tuple[int, ...]) -> None:
    """Until the GPUs have done what they were given."""
    for device in devices:
        torch.cuda.synchronize(device)


def measure_peers(torch: Any, devices: list[int], known: dict[str, Any]) -> None:
    """Copies from each GPU to each one after it, and whether they arrive as they were sent."""
    for place, one in enumerate(devices):
        for other in devices[place + 1 :]:
            sent = torch.arange(PEER_BYTES // 4, dtype=torch.int32, device=f"cuda:{one}")
            arrived = torch.empty_like(sent, device=f"cuda:{other}")
            gb_per_second = speed(torch, (one, other), partial(arrived.copy_, sent), PEER_BYTES)
            known["peers"].append(
                {
                    "source": known["gpus"][one]["gpu"],
                    "target": known["gpus"][other]["gpu"],
                    "direct": bool(torch.cuda.can_device_access_peer(one, other)),
                    "intact": bool(torch.equal(sent.cpu(), arrived.cpu())),
                    "gb_per_second": gb_per_second,
                }
            )


def load(torch: Any, device: int, uuid: str, seconds: float) -> dict[str, Any]:
    """The speed of half-precision matrix products over some seconds, and what nvidia-smi says meanwhile."""
    left, right = (torch.randn(MATRIX, MATRIX, device=f"cuda:{device}").half() for _ in range(2))
    product = left @ right
    wait(torch, (device,))
    replays, watch = num_replays(uuid), start_watch(uuid)
    began, products = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        for _ in range(10):
            torch.matmul(left, right, out=product)
        wait(torch, (device,))
        products += 10
    took = time.perf_counter() - began
    look = {"seconds": round(took, 3), "fields": FIELDS, "samples": end_watch(watch)}
    look["replays"] = [replays, num_replays(uuid)]
    return {"tflops": rate(products * 2 * MATRIX**3, took, 1e12), "load": look}


def start_watch(uuid: str) -> Any:
    """An nvidia-smi that prints a sample of one GPU twice a second; None where there is none to start."""
    reason = next((field for field in REASONS if smi(f"--query-gpu={field}", uuid) is not None), None)
    if not uuid or reason is None:
        return None
    argv = ["nvidia-smi", "-i", uuid, f"--query-gpu={','.join((*FIELDS, reason))}", "--format=csv,noheader,nounits"]
    return subprocess.Popen(
        [*argv, "-lms", str(SAMPLE_MILLISECONDS)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def end_watch(watch: Any) -> str:
    """What it printed."""
    if watch is None:
        return ""
    watch.terminate()
    return str(watch.communicate(timeout=5)[0])


def number(cell: str) -> float | None:
    """A cell of nvidia-smi; None for `[N/A]` and other words."""
    try:
        return float(cell)
    except ValueError:
        return None


def num_replays(uuid: str) -> int | None:
    """PCIe packets that were sent again since the driver was loaded, `Replays Since Reset` of nvidia-smi -q."""
    for line in (smi("-q", uuid) or "").splitlines():
        label, _, value = line.partition(":")
        if label.strip() == "Replays Since Reset" and value.strip().isdigit():
            return int(value)
    return None


def smi(question: str, uuid: str = "") -> str | None:
    """The answer of nvidia-smi, None where it has none."""
    argv = ["nvidia-smi", question, *(["-i", uuid] if uuid else [])]
    if question.startswith("--query"):
        argv.append("--format=csv,noheader,nounits")
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def smi_cards() -> list[dict[str, Any]]:
    """Index, UUID and utilisation of every GPU of the driver, in its order."""
    cards = []
    for line in (smi("--query-gpu=index,uuid,utilization.gpu") or "").splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 3 and cells[0].isdigit():
            cards.append({"index": int(cells[0]), "uuid": cells[1], "utilization": number(cells[2]) or 0})
    return cards


def visible(cards: list[dict[str, Any]], chosen: str | None) -> list[dict[str, Any]]:
    """The cards that CUDA_VISIBLE_DEVICES leaves, in its order.

    >>> cards = [{"index": 0, "uuid": "GPU-a1"}, {"index": 1, "uuid": "GPU-b2"}]
    >>> [card["index"] for card in visible(cards, "1,0")], [card["index"] for card in visible(cards, "GPU-b")]
    ([1, 0], [1])
    """
    if chosen is None:
        return cards
    found = []
    for word in (part.strip() for part in chosen.split(",")):
        fitting = [card for card in cards if str(card["index"]) == word or (word and card["uuid"].startswith(word))]
        if len(fitting) != 1:
            break
        found.append(fitting[0])
    return found


def used_by_others(processes: str | None, own_pid: int) -> set[str]:
    r"""UUIDs of the GPUs on which another process computes.

    >>> used_by_others("GPU-a1, 77\nGPU-b2, 5\n", own_pid=5)
    {'GPU-a1'}
    """
    rows = [line.split(",") for line in (processes or "").splitlines()]
    return {row[0].strip() for row in rows if len(row) == 2 and row[1].strip() != str(own_pid)}


def first_line(failure: BaseException) -> str:
    """The first line of an exception with its class."""
    words = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {words[0]}" if words else type(failure).__name__


if __name__ == "__main__":
    main()
