"""The audit graded by the truth our generator writes, beside cleanlab and cleanvision. Prints four tables.

    python benchmarks/audit_beside_others.py [--python INTERPRETER]

INTERPRETER has cleanlab and cleanvision (pip install "cleanlab[image]" cleanvision); they are asked in a process of
their own, and left out in words where they are not installed. Labels: both get the same out-of-fold probabilities, so
that only the rule differs. Copies: 40 pictures are written again, changed in known ways.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from audit.audited_sets import COPIES, audited, flagged, of_kind  # noqa: E402

from rigwise.train.audit.features import frozen_features  # noqa: E402
from rigwise.train.audit.labels import out_of_fold, suspected  # noqa: E402
from rigwise.train.audit.look import Look, look_at_all  # noqa: E402
from rigwise.train.embedded import CLASSES, EmbeddedSet, make_pictures  # noqa: E402
from rigwise.train.pictures.gather import gather  # noqa: E402
from rigwise.train.pictures.layout import find_layout  # noqa: E402

PER_CLASS = 60
NUM_COPIES = 40
NOISE: dict[str, dict[str, Any]] = {
    "clean": {},
    "noise 10 %": {"label_noise": 0.1},
    "noise 20 %": {"label_noise": 0.2},
    "10 : 1, noise 10 %": {"label_noise": 0.1, "imbalance": 10.0},
}
SHORTCUTS: dict[str, dict[str, Any]] = {
    "clean": {},
    "clean, 20 : 1": {"imbalance": 20.0},
    "background 25 %": {"background_shortcut": 0.25},
    "background 50 %": {"background_shortcut": 0.5},
    "background 100 %": {"background_shortcut": 1.0},
}
PEERS = """
import json, sys, time
import numpy as np
task, path = sys.argv[1], sys.argv[2]
began = time.perf_counter()
if task == "labels":
    from cleanlab.filter import find_label_issues
    given = np.load(path)
    found = find_label_issues(given["labels"], given["probabilities"]).nonzero()[0].tolist()
elif task == "shortcuts":
    from datasets import Dataset, Image
    from cleanlab import Datalab
    rows = json.load(open(path))
    data = Dataset.from_dict({"image": [row[0] for row in rows], "label": [row[1] for row in rows]})
    lab = Datalab(data=data.cast_column("image", Image()), label_name="label", image_key="image", verbosity=0)
    lab.find_issues()
    scores = lab.get_info("spurious_correlations")["correlations_df"]
    found = [f"{row.property}={row.score:.2f}" for row in scores.itertuples() if row.score < 0.3]
else:
    from cleanvision import Imagelab
    lab = Imagelab(filepaths=json.load(open(path)))
    lab.find_issues({"exact_duplicates": {}, "near_duplicates": {}}, n_jobs=1)
    found = [group for kind in ("exact_duplicates", "near_duplicates") for group in lab.info[kind]["sets"]]
print("ANSWER", json.dumps({"found": found, "seconds": time.perf_counter() - began}))
"""


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--python", default=sys.executable, help="an interpreter with cleanlab and cleanvision")
    peer_python = arguments.parse_args().python
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        labels(Path(scratch), peer_python)
        shortcuts(Path(scratch), peer_python)
        copies(Path(scratch), peer_python)


def peers(python: str, task: str, path: Path) -> dict[str, Any] | None:
    """What the peer found and how long it took; None where it is not installed."""
    done = subprocess.run([python, "-c", PEERS, task, str(path)], capture_output=True, text=True, check=False)
    answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    if not answers:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"    the peer is left out: {last}")
        return None
    return json.loads(answers[0].removeprefix("ANSWER "))


def looks_of(folder: Path) -> list[Look]:
    return look_at_all(folder, gather(folder, find_layout(folder)).candidates).seen


def graded(found: Iterable[Any], truth: set[Any]) -> str:
    """Precision and recall as text."""
    found = set(found)
    hits = len(found & truth)
    precision = f"{hits / len(found):.2f}" if found else "-"
    recall = f"{hits / len(truth):.2f}" if truth else "-"
    return f"{len(found):4} found   precision {precision:>4}   recall {recall:>4}"


def labels(scratch: Path, python: str) -> None:
    print(f"wrong labels ({5 * PER_CLASS} pictures, fewer where unequal)")
    for name, settings in NOISE.items():
        folder = make_pictures(scratch / name, EmbeddedSet(per_class=PER_CLASS, **settings))
        looks = looks_of(folder)
        with (folder / "truth.csv").open(newline="") as file:
            true_class = {row["path"]: row["true_class"] for row in csv.DictReader(file)}
        wrong = {place for place, look in enumerate(looks) if true_class[look.path] != look.class_name}
        given = np.array([CLASSES.index(look.class_name) for look in looks])
        features = frozen_features(folder, looks)
        began = time.perf_counter()
        probabilities = out_of_fold(features, given, list(range(len(looks))))
        ours = [place for place, *_ in suspected(probabilities, given)]
        seconds = time.perf_counter() - began
        print(f"  {name:20} rigwise      {graded(ours, wrong)}   {seconds:.1f} s with the probe")
        np.savez(scratch / "given.npz", labels=given, probabilities=probabilities)
        if theirs := peers(python, "labels", scratch / "given.npz"):
            print(f"  {'':20} cleanlab     {graded(theirs['found'], wrong)}   {theirs['seconds']:.1f} s without")


def shortcuts(scratch: Path, python: str) -> None:
    print("shortcuts (flagged properties)")
    for name, settings in SHORTCUTS.items():
        folder = make_pictures(scratch / f"shortcut {name}", EmbeddedSet(per_class=PER_CLASS, seed=1, **settings))
        began = time.perf_counter()
        report = audited(folder)
        seconds = time.perf_counter() - began
        ours = ", ".join(sorted(flagged(report))) or "nothing"
        print(f"  {name:20} rigwise      {ours:40} {seconds:.1f} s, all checks")
        rows = [(str(path), path.parent.name) for path in sorted(folder.rglob("*.jpg"))]
        (scratch / "rows.json").write_text(json.dumps(rows))
        if theirs := peers(python, "shortcuts", scratch / "rows.json"):
            print(f"  {'':20} cleanlab     {', '.join(theirs['found']) or 'nothing':40} {theirs['seconds']:.1f} s")


def copies(scratch: Path, python: str) -> None:
    print(
        f"copies ({NUM_COPIES} among {5 * PER_CLASS + NUM_COPIES} pictures, {NUM_COPIES // len(COPIES)} of each kind)"
    )
    folder = make_pictures(scratch / "copies", EmbeddedSet(per_class=PER_CLASS, seed=2))
    originals = Random(0).sample(sorted(folder.rglob("*.jpg")), NUM_COPIES)
    truth: dict[frozenset[str], str] = {}
    for number, original in enumerate(originals):
        how = list(COPIES)[number % len(COPIES)]
        copy = folder / "train" / "shoes" / f"copy{number}.jpg"
        copy.write_bytes(COPIES[how](Image.open(original).convert("RGB")))
        truth[frozenset((str(original), str(copy)))] = how
    began = time.perf_counter()
    found = of_kind(audited(folder), "copy")
    seconds = time.perf_counter() - began
    ours = {frozenset((str(folder / each.path), str(folder / each.other.path))) for each in found if each.other}
    print(f"  rigwise      {graded(ours, set(truth))}   {seconds:.1f} s, all checks   {missed(truth, ours)}")
    (scratch / "paths.json").write_text(json.dumps([str(path) for path in sorted(folder.rglob("*.jpg"))]))
    if theirs := peers(python, "copies", scratch / "paths.json"):
        pairs = {frozenset(pair) for group in theirs["found"] for pair in combinations(group, 2)}
        print(f"  cleanvision  {graded(pairs, set(truth))}   {theirs['seconds']:.1f} s   {missed(truth, pairs)}")


def missed(truth: dict[frozenset[str], str], found: set[frozenset[str]]) -> str:
    kinds = sorted(how for pair, how in truth.items() if pair not in found)
    return "missed: " + (", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "none")


if __name__ == "__main__":
    main()
