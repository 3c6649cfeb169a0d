"""A small laboratory for tests on texts: learnable documents, a tiny decoder, a real run folder."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rigwise.telemetry.run_folder import create_run_folder
from rigwise.telemetry.writer import RunWriter
from rigwise.train.progress import Silent
from rigwise.train.recipe_sections import CeilingsSection, CpuSection, Recipe, TextSection, TrainingSection
from rigwise.train.step.device import CpuDevice, Device
from rigwise.train.text.corpus import TextPlan, read_texts
from rigwise.train.text.tokeniser import find_tokeniser
from rigwise.train.text.tokens import TokenTable, tokenised
from rigwise.train.text_lab import TextLab

WORDS = ("rig", "card", "fan", "slot", "cable", "driver", "kernel", "loss", "step", "batch")


def documents(count: int = 40, longest: int = 30, seed: int = 0) -> list[str]:
    """Sentences of a few words each, no two documents alike; their order can be learned, the words not foretold."""
    chance = np.random.default_rng(seed)
    return [
        f"{number}: " + " ".join(chance.choice(WORDS, size=chance.integers(2, longest))) + ".\n"
        for number in range(count)
    ]


def write_texts(root: Path, texts: Sequence[str]) -> Path:
    """One file a document."""
    root.mkdir(parents=True)
    for number, text in enumerate(texts):
        (root / f"{number:03}.txt").write_text(text)
    return root


def write_records(path: Path, records: Sequence[object]) -> Path:
    """One JSONL file."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def text_recipe(*, steps: int = 6, batch_size: int = 4, context: int = 32, **text: object) -> Recipe:
    sizes: dict[str, object] = {"layers": 1, "width": 16, "heads": 2, "val_tokens": 2000, "context": context}
    return Recipe(
        text=TextSection(**sizes | text),
        training=TrainingSection(
            steps=steps, batch_size=batch_size, larger_batch_size=2 * batch_size, warmup_steps=2, learning_rate=3e-3
        ),
        cpu=CpuSection(steps=steps, context=context, num_threads=1),
        ceilings=CeilingsSection(seconds=0.05, lever_seconds=0.1, max_seconds=0.5),
    )


def table_of(texts: Sequence[str], base: Path) -> TokenTable:
    """The tokens of these documents, in the order given, as bytes."""
    root = write_texts(base / f"data{len(list(base.iterdir()))}", [*texts, "held back"])
    read = read_texts(root, TextPlan(seed=0))
    found = {document.name: document for split in ("train", "val", "test") for document in getattr(read, split)}
    ordered = tuple(found[f"{number:03}.txt"] for number in range(len(texts)))
    every = msgspec.structs.replace(read, train=ordered, val=(), test=())
    return tokenised(every, find_tokeniser("bytes"), "text", Silent(), base / "cache")["train"]


@pytest.fixture
def make_text_lab(tmp_path: Path) -> Iterator[Callable[..., TextLab]]:
    """Makes labs that record into run folders of this test."""
    with ExitStack() as open_writers:

        def make(device: Device | None = None, root: Path | None = None, **recipe: object) -> TextLab:
            here = tmp_path / f"lab{len(list(tmp_path.iterdir()))}"
            folder = create_run_folder(here / "run")
            wanted = text_recipe(**recipe)
            root = root or write_texts(here / "texts", documents())
            texts = read_texts(root, TextPlan(seed=0, field=wanted.text.field))
            tokeniser = find_tokeniser(wanted.text.tokeniser if wanted.text.tokeniser != "auto" else "bytes")
            device = device or CpuDevice()
            return TextLab(
                recipe=wanted,
                texts=texts,
                tables=tokenised(texts, tokeniser, wanted.text.field, Silent(), here / "cache"),
                vocabulary_size=tokeniser.vocabulary_size,
                device=device,
                no_gpu="" if device.is_gpu else "no GPU in this test",
                writer=open_writers.enter_context(RunWriter(folder.database)),
                folder=folder,
                progress=Silent(),
            )

        yield make
