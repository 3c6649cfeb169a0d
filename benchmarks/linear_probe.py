"""How hard the embedded pictures are: a linear probe on frozen features of the default model. Prints one table.

Logistic regression on standardised features, trained on train and scored on test, with the 95 % Wilson interval; raw
16x16 pixels beside it, to show what colour and position alone give away. Chance is 0.20; at 10 : 1 the largest class
alone gives 40 of 86, 0.47. Pictures of one seed are the same under label noise and imbalance, so their features are
computed once.

    python benchmarks/linear_probe.py
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import torch
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from rigwise.statistics import wilson_interval
from rigwise.train.embedded import EmbeddedSet, make_pictures
from rigwise.train.embedded.plan import Planned, plan
from rigwise.train.network.model import build_model

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from outside_pictures import composite_products, style_of  # noqa: E402

BATCH_SIZE = 50
SHORTCUT_PER_CLASS = 100
OUTSIDE_PER_CLASS = 100
REGULARISATION = 0.01
"""Inverse strength; 0.01 to 1 give test accuracies within one point of each other (default set, seeds 0 and 1)."""
SHARED = Path(os.environ.get("RIGWISE_SHARED") or ROOT.parent / "shared")


class Features(NamedTuple):
    """What one picture looks like to the two probes."""

    frozen: np.ndarray
    """(1280,) pooled features of the pretrained network."""
    raw: np.ndarray
    """(768,) pixels of the picture at 16x16."""


Extract = Callable[[Iterable[Path]], list[Features]]


def main() -> None:
    torch.set_num_threads(os.cpu_count() or 1)
    extract = extractor()
    print(f"{'':44}{'frozen features':>22}{'raw 16x16':>12}{'pictures':>10}")
    with tempfile.TemporaryDirectory() as scratch:
        embedded(Path(scratch), extract)
        shortcut(Path(scratch), extract)
        outside(Path(scratch), extract)


def embedded(scratch: Path, extract: Extract) -> None:
    started = time.process_time()
    folder = make_pictures(scratch / "default", EmbeddedSet())
    drawing_seconds = time.process_time() - started
    known = features_by_seed(folder, plan(EmbeddedSet()), extract)
    report("default set, test", known, plan(EmbeddedSet()))
    report("  val", known, plan(EmbeddedSet()), split="val")
    noisy = plan(EmbeddedSet(label_noise=0.1))
    report("label noise 10 %, test against the truth", known, noisy)
    report("  test against the labels", known, noisy, labels=lambda picture: picture.labelled_class)
    report("imbalance 10 : 1, test", known, plan(EmbeddedSet(imbalance=10.0)))
    print(
        f"drawing the default set: {1000 * drawing_seconds / len(known):.1f} ms of CPU a picture, {len(known)} pictures"
    )


def shortcut(scratch: Path, extract: Extract) -> None:
    told = EmbeddedSet(per_class=SHORTCUT_PER_CLASS, background_shortcut=1.0)
    swapped = msgspec.structs.replace(told, shortcut_swapped_in=("test",))
    known = features_by_seed(make_pictures(scratch / "told", told), plan(told), extract)
    report("background gives the class away, test", known, plan(told))
    tests = [picture for picture in plan(swapped) if picture.path.startswith("test/")]
    known |= features_by_seed(make_pictures(scratch / "swapped", swapped), tests, extract)
    report("  test with backgrounds swapped", known, plan(swapped))


def outside(scratch: Path, extract: Extract) -> None:
    """Drawings by other hands: each style scored by a probe that never saw it."""
    if not SHARED.is_dir():
        print("outside pictures: not here (RIGWISE_SHARED)")
        return
    paths = sorted(composite_products(SHARED, scratch / "outside", OUTSIDE_PER_CLASS, seed=0).rglob("*.jpg"))
    features = extract(paths)
    labels, styles = (np.array([f(path) for path in paths]) for f in (lambda path: path.parent.name, style_of))
    for style in sorted(set(styles)):
        kept, left_out = styles != style, styles == style
        scores = [
            probe().fit(values[kept], labels[kept]).score(values[left_out], labels[left_out])
            for values in (np.stack(kind) for kind in zip(*features, strict=True))
        ]
        row(f"outside, {style} left out", scores, int(left_out.sum()))


def report(
    title: str,
    known: Mapping[str, Features],
    planned: list[Planned],
    *,
    split: str = "test",
    labels: Callable[[Planned], str] = lambda picture: picture.true_class,
) -> None:
    """One row: trained on the labels of train, scored on `labels` of the split."""
    train, held_out = ([p for p in planned if p.path.startswith(f"{name}/")] for name in ("train", split))
    scores = []
    for kind in range(len(Features._fields)):
        fitted = probe().fit([known[p.seed][kind] for p in train], [p.labelled_class for p in train])
        scores.append(fitted.score([known[p.seed][kind] for p in held_out], [labels(p) for p in held_out]))
    row(title, scores, len(held_out))


def row(title: str, scores: Iterable[float], num_pictures: int) -> None:
    frozen, raw = scores
    low, high = wilson_interval(round(frozen * num_pictures), num_pictures)
    print(f"{title:44}{frozen:>7.3f} ({low:.3f}-{high:.3f}){raw:>12.3f}{num_pictures:>10}", flush=True)


def probe() -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression(C=REGULARISATION, max_iter=2000))


def features_by_seed(folder: Path, planned: list[Planned], extract: Extract) -> dict[str, Features]:
    return dict(zip((p.seed for p in planned), extract(folder / p.path for p in planned), strict=True))


def extractor() -> Extract:
    """Reads pictures as the default model wants them and looks at them, `BATCH_SIZE` at a time."""
    built = build_model("tf_efficientnet_lite0", 0)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (built.mean, built.std))
    network = built.model.eval()

    @torch.inference_mode()
    def extract(paths: Iterable[Path]) -> list[Features]:
        pictures = [Image.open(path).convert("RGB") for path in paths]
        side = (built.image_size, built.image_size)
        found: list[np.ndarray] = []
        for start in range(0, len(pictures), BATCH_SIZE):
            resized = [
                np.asarray(p.resize(side, Image.Resampling.BICUBIC)) for p in pictures[start : start + BATCH_SIZE]
            ]
            batch = torch.from_numpy(np.stack(resized)).permute(0, 3, 1, 2).float() / 255
            found += list(network((batch - mean) / std).numpy())
        raw = [np.asarray(p.resize((16, 16))).ravel() / 255 for p in pictures]
        return [Features(*pair) for pair in zip(found, raw, strict=True)]

    return extract


if __name__ == "__main__":
    main()
