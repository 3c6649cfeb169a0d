"""A model that learnt the background is found out when backgrounds are swapped; one that learnt the subject is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PIL import Image, ImageDraw
from training_lab import small_recipe

from rigwise.records.audit import Counterfactual
from rigwise.telemetry.run_folder import create_run_folder
from rigwise.telemetry.writer import RunWriter
from rigwise.train.counterfactual import counterfactual
from rigwise.train.full_trial import run_full_trial
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.progress import Silent
from rigwise.train.step.device import CpuDevice

COLOURS = {"bags": (180, 90, 90), "shoes": (90, 90, 180)}


def draw(root: Path, *, telling: str, per_class: int = 80) -> Path:
    """Two classes of discs: the background's colour tells them apart, or the disc's."""
    for name, colour in COLOURS.items():
        (root / name).mkdir(parents=True)
        for number in range(per_class):
            grey = 60 + number % 40 * 4
            neutral = (grey, grey, grey)
            background, disc = (colour, neutral) if telling == "background" else (neutral, colour)
            image = Image.new("RGB", (48, 48), background)
            place = 8 + number % 5
            ImageDraw.Draw(image).ellipse((place, 10, place + 24, 36), fill=disc, outline=(20, 20, 20), width=2)
            image.save(root / name / f"{number:03}.png")
    return root


@pytest.fixture
def lab(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[PictureLab]:
    folder = create_run_folder(tmp_path / "run")
    with RunWriter(folder.database) as writer:
        yield PictureLab(
            recipe=small_recipe(steps=40),
            pictures=read_pictures(draw(tmp_path / "set", telling=request.param), seed=0, test_ratio=0.3),
            device=CpuDevice(),
            no_gpu="no GPU in this test",
            writer=writer,
            folder=folder,
            progress=Silent(),
        )


def asked(lab: PictureLab) -> Counterfactual:
    torch.manual_seed(0)
    _, trained = run_full_trial(lab, "cpu fp32", "fp32", 16)
    assert trained is not None
    return counterfactual(lab, trained)


@pytest.mark.parametrize("lab", ["background"], indirect=True)
def test_a_model_that_learnt_the_background_is_found_out(lab: PictureLab) -> None:
    found = asked(lab)
    assert found.num_pictures >= 40
    assert found.as_they_are >= 0.9 * found.num_pictures
    assert found.other_class < 0.5 * found.num_pictures
    assert found.followed > 0.5 * found.num_pictures
    assert found.leans_on_background
    assert "it leans on the background" in found.because


@pytest.mark.parametrize("lab", ["subject"], indirect=True)
def test_a_model_that_learnt_the_subject_is_cleared(lab: PictureLab) -> None:
    found = asked(lab)
    assert found.as_they_are >= 0.9 * found.num_pictures
    assert not found.leans_on_background
    assert "no loss is seen" in found.because


@pytest.mark.parametrize("lab", ["subject"], indirect=True)
def test_with_few_pictures_nothing_is_said(lab: PictureLab) -> None:
    import msgspec

    few = msgspec.structs.replace(lab.pictures, test=lab.pictures.test[:10])
    found = asked(msgspec.structs.replace(lab, pictures=few))
    assert (found.num_pictures, found.num_skipped, found.leans_on_background) == (0, 10, False)
    assert "were not swapped" in found.because
