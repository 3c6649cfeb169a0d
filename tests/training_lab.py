"""A small laboratory for training tests: easy pictures, a tiny network, a real run folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from rigwise.telemetry.run_folder import create_run_folder
from rigwise.telemetry.writer import RunWriter
from rigwise.train.knobs.section import KnobsSection
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.progress import Silent
from rigwise.train.recipe_sections import (
    AuditSection,
    CeilingsSection,
    CpuSection,
    LoaderSection,
    ModelSection,
    PicturesSection,
    Recipe,
    TrainingSection,
)
from rigwise.train.step.device import CpuDevice, Device

TINY_MODEL = "test_efficientnet.r160_in1k"
"""timm's own test network, 0.4 million parameters."""
COLOURS = {"bags": (200, 60, 60), "shoes": (60, 60, 200), "watches": (60, 180, 60)}


def draw_easy_pictures(root: Path, per_class: int = 12, size: int = 48) -> Path:
    """One folder of classes that differ by colour; every picture differs from the others."""
    for class_name, colour in COLOURS.items():
        folder = root / class_name
        folder.mkdir(parents=True)
        for number in range(per_class):
            picture = Image.new("RGB", (size, size), (number * 9 % 256, 128, 128))
            ImageDraw.Draw(picture).ellipse((6 + number % 5, 6, size - 6, size - 6 - number % 7), fill=colour)
            picture.save(folder / f"{number:02}.png")
    return root


def small_recipe(
    *, model: str = TINY_MODEL, weights: str = "none", image_size: int = 32, batch_size: int = 8, steps: int = 6
) -> Recipe:
    return Recipe(
        model=ModelSection(name=model, weights=weights),
        pictures=PicturesSection(image_size=image_size),
        training=TrainingSection(steps=steps, batch_size=batch_size, larger_batch_size=2 * batch_size, warmup_steps=2),
        cpu=CpuSection(steps=steps, image_size=image_size, num_threads=1),
        loader=LoaderSection(num_threads=1),
        audit=AuditSection(labels=False),
        ceilings=CeilingsSection(seconds=0.05, lever_seconds=0.1, max_seconds=0.5),
        knobs=KnobsSection(predict_peak=False),
    )


@pytest.fixture(scope="session")
def easy_pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_easy_pictures(tmp_path_factory.mktemp("easy"))


@pytest.fixture
def make_lab(easy_pictures: Path, tmp_path: Path) -> Iterator[Callable[..., PictureLab]]:
    """Makes labs that record into run folders of this test."""
    with ExitStack() as open_writers:

        def make(device: Device | None = None, **recipe: object) -> PictureLab:
            folder = create_run_folder(tmp_path / f"run{len(list(tmp_path.iterdir()))}")
            writer = open_writers.enter_context(RunWriter(folder.database))
            device = device or CpuDevice()
            return PictureLab(
                recipe=small_recipe(**recipe),
                pictures=read_pictures(easy_pictures, seed=0),
                device=device,
                no_gpu="" if device.is_gpu else "no GPU in this test",
                writer=writer,
                folder=folder,
                progress=Silent(),
            )

        yield make
