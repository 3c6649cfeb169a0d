"""One trained and exported model for all tests that ask what an export holds: change copies only."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from torch import nn
from training_lab import small_recipe

from rigwise.records.exported import ModelCard
from rigwise.telemetry.run_folder import create_run_folder
from rigwise.telemetry.writer import RunWriter
from rigwise.train.export.model_folder import ExportedModel, open_model
from rigwise.train.export.pictures import leave_model, trained_model
from rigwise.train.full_trial import Trained, run_full_trial
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.progress import Silent
from rigwise.train.step.device import CpuDevice


@pytest.fixture(scope="session")
def trained(easy_pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PictureLab, Trained]]:
    """A laboratory and the fp32 trial it ran."""
    folder = create_run_folder(tmp_path_factory.mktemp("exported") / "run")
    with RunWriter(folder.database) as writer:
        lab = PictureLab(
            recipe=small_recipe(),
            pictures=read_pictures(easy_pictures, seed=0),
            device=CpuDevice(),
            no_gpu="no GPU in this test",
            writer=writer,
            folder=folder,
            progress=Silent(),
        )
        _, left = run_full_trial(lab, "cpu fp32", "fp32", 8)
        assert left is not None
        yield lab, left


@pytest.fixture(scope="session")
def exported_model(trained: tuple[PictureLab, Trained]) -> ExportedModel:
    """The model that trial left, in `RUN/model`."""
    lab, left = trained
    leave_model(lab, left.result, trained_model(lab, left))
    return open_model(lab.folder.path)


def leave_elsewhere(trained: tuple[PictureLab, Trained], run: Path, network: nn.Module) -> ModelCard:
    """The same run with another network in the place of its own, left in the folder `run`."""
    lab, left = trained
    lab = msgspec.structs.replace(lab, folder=create_run_folder(run))
    return leave_model(lab, left.result, msgspec.structs.replace(trained_model(lab, left), model=network))
