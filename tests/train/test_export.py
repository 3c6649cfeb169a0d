"""What a run leaves of its model: a folder that is whole, proved equal, and holds no code to unpickle."""

import json
import pickle
import re
import shutil
import zipfile
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import msgspec
import pytest
import safetensors
import safetensors.torch
import timm
import torch
from exported_models import leave_elsewhere
from simulated_gpu import SimulatedGpu
from torch import Tensor, nn

from rigwise.errors import BadInput, CannotWrite
from rigwise.telemetry.run_folder import create_run_folder
from rigwise.train.export.asking import probabilities
from rigwise.train.export.folder import write_folder
from rigwise.train.export.model_folder import ExportedModel, card_text, open_model
from rigwise.train.export.pictures import leave_model, trained_model
from rigwise.train.export.program import exported, loaded
from rigwise.train.full_trial import Trained
from rigwise.train.picture_lab import PictureLab
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.vram_simulation import simulate_vram


class Colours(nn.Module):
    """A network that looks at mean colours only, with some `habit` that programs cannot keep."""

    def __init__(self, habit: str = "") -> None:
        super().__init__()
        self.last = nn.Linear(3, 3)
        self.habit = habit

    def forward(self, images: Tensor) -> Tensor:
        colours = images.mean(dim=(2, 3))
        match self.habit:
            case "branches":
                colours = colours if colours.sum() > 0 else -colours
            case "wavers":
                colours = colours + torch.rand_like(colours)
            case "counts":
                colours = colours * len(torch.zeros(len(images)).tolist())
        return self.last(colours)


@pytest.fixture
def folder(exported_model: ExportedModel, tmp_path: Path) -> Path:
    """A copy of the model folder, of this test's own."""
    return shutil.copytree(exported_model.folder, tmp_path / "model")


def test_the_folder_is_what_its_card_says(exported_model: ExportedModel, trained: tuple[PictureLab, Trained]) -> None:
    card, folder = exported_model.card, exported_model.folder
    assert folder == trained[0].folder.path / "model"
    assert {path.name for path in folder.iterdir()} == {"model.json", *card.files}
    assert all(sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in card.files.items())
    assert (folder / "labels.txt").read_text().split() == list(card.labels) == ["bags", "shoes", "watches"]
    assert open_model(folder) == exported_model
    assert (card.run, card.trial, card.image_size) == ("run", "cpu fp32", 32)
    assert "equal to the trained model on 6 pictures" in card.proof


def test_the_weights_fit_timm_and_are_those_of_the_trial(
    exported_model: ExportedModel, trained: tuple[PictureLab, Trained]
) -> None:
    file = exported_model.folder / "weights.safetensors"
    network = timm.create_model(exported_model.card.network, num_classes=3)
    network.load_state_dict(safetensors.torch.load_file(file))
    assert all(torch.equal(value, trained[1].weights[name]) for name, value in network.state_dict().items())
    with safetensors.safe_open(file, "pt") as content:
        assert content.metadata() == {"format": "pt", "schema": "rigwise.model/1"}


def test_the_program_gives_what_the_review_of_the_run_says(
    exported_model: ExportedModel, trained: tuple[PictureLab, Trained]
) -> None:
    lab, left = trained
    program = loaded(exported_model.program).module()
    batches = lab.material.eval_batches(lab.pictures.test, 8)
    answers = torch.cat([probabilities(program, images, CpuDevice()) for images, _ in batches])
    assert torch.equal(answers, left.review.probabilities)
    accuracy = exported_model.card.accuracy
    assert (accuracy.pictures, accuracy.correct) == ("test", left.review.num_correct)


@pytest.mark.parametrize("num_pictures", [1, 2, 7])
def test_any_batch_size_is_taken_and_no_other_picture_size(exported_model: ExportedModel, num_pictures: int) -> None:
    program = loaded(exported_model.program).module()
    answers = program(torch.zeros(num_pictures, 3, 32, 32, dtype=torch.uint8))
    assert answers.sum(dim=1).tolist() == pytest.approx([1.0] * num_pictures)
    assert not answers.requires_grad
    with pytest.raises((AssertionError, RuntimeError)):
        program(torch.zeros(num_pictures, 3, 48, 48, dtype=torch.uint8))


def test_no_file_name_of_this_machine_is_in_the_program(exported_model: ExportedModel) -> None:
    with zipfile.ZipFile(BytesIO(exported_model.program)) as archive:
        content = b"".join(map(archive.read, archive.namelist()))
    assert b"conv2d" in content
    assert not re.findall(rb"[\w./-]*\.py\b|/site-packages/|/home/", content)


@pytest.mark.parametrize(
    ("habit", "reason"),
    [("branches", "data-dependent"), ("wavers", "differ from the trained model's by"), ("counts", "")],
)
def test_a_network_that_cannot_be_exported_leaves_its_weights_and_the_reason(
    trained: tuple[PictureLab, Trained], tmp_path: Path, habit: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    card = leave_elsewhere(trained, tmp_path / "run", Colours(habit))
    assert capfd.readouterr() == ("", "")
    assert card.program == ""
    assert reason in card.why_no_program.lower()
    left = {path.name for path in (tmp_path / "run" / "model").iterdir()}
    assert left == {"model.json", "weights.safetensors", "labels.txt"}
    with pytest.raises(BadInput) as refused:
        open_model(tmp_path / "run")
    assert card.why_no_program in refused.value.why


def test_fp32_that_does_not_fit_the_gpu_any_more_is_scored_on_the_cpu(
    exported_model: ExportedModel, trained: tuple[PictureLab, Trained], tmp_path: Path
) -> None:
    lab, left = trained
    gpu = SimulatedGpu(simulate_vram(4096))
    lab = msgspec.structs.replace(lab, device=gpu, folder=create_run_folder(tmp_path / "run"))
    result = msgspec.structs.replace(left.result, device=gpu.name)
    assert leave_model(lab, result, trained_model(trained[0], left)).accuracy == exported_model.card.accuracy


def test_the_same_network_without_the_habit_can(trained: tuple[PictureLab, Trained], tmp_path: Path) -> None:
    assert leave_elsewhere(trained, tmp_path / "run", Colours()).program == "model.pt2"


@pytest.mark.parametrize("place", ["sample_inputs/model.pt", "constants/opaque_obj_0", "weights/weight_0"])
def test_a_stranger_cannot_run_code_by_what_is_unpickled(
    place: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return Path.touch, (mark,)

    trapped = with_member(exported(Colours(), torch.zeros(2, 3, 8, 8)), place, pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"pickle"):
        loaded(trapped)
    assert not mark.exists()
    assert capfd.readouterr() == ("", "")


def with_member(archive: bytes, place: str, content: bytes) -> bytes:
    """The archive with this member replaced or added, and every weight said to be a pickle."""
    changed = BytesIO()
    with zipfile.ZipFile(BytesIO(archive)) as before, zipfile.ZipFile(changed, "w") as after:
        root = before.namelist()[0].split("/")[0]
        members = {name: before.read(name) for name in before.namelist()} | {f"{root}/data/{place}": content}
        for name, each in members.items():
            pickled = place.startswith("weights") and name.endswith("weights_config.json")
            after.writestr(name, each.replace(b'"use_pickle": false', b'"use_pickle": true') if pickled else each)
    return changed.getvalue()


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(small_disk: Callable[[int], Path]) -> None:
    place = small_disk(2**20)
    with pytest.raises(CannotWrite) as refused:
        write_folder(place / "model", {"small": b"x", "large": bytes(2**21)}, "make room")
    assert "No space left" in refused.value.why
    assert list(place.iterdir()) == []


def test_what_a_killed_attempt_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "model.unfinished").mkdir()
    (tmp_path / "model.unfinished" / "half").touch()
    write_folder(tmp_path / "model", {"model.json": b"{}"}, "")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["model", "model.json"]


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine").touch()
    with pytest.raises(CannotWrite):
        write_folder(tmp_path / "model", {"model.json": b"{}"}, "move it away")
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "mine"]


class TestBadFolders:
    """One clear error for each way in which there is no model to ask."""

    def refused(self, place: Path) -> BadInput:
        with pytest.raises(BadInput) as refused:
            open_model(place)
        return refused.value

    def test_another_program(self, folder: Path) -> None:
        (folder / "model.pt2").write_bytes((folder / "model.pt2").read_bytes()[:-1] + b"!")
        assert "SHA-256" in self.refused(folder).why

    def test_no_program(self, folder: Path) -> None:
        (folder / "model.pt2").unlink()
        assert "No such file" in self.refused(folder).why

    def test_a_newer_form(self, folder: Path) -> None:
        card = json.loads((folder / "model.json").read_text()) | {"schema": "rigwise.model/2"}
        (folder / "model.json").write_text(json.dumps(card))
        assert "rigwise.model/2" in self.refused(folder).why

    def test_another_kind(self, folder: Path) -> None:
        (folder / "model.json").write_text('{"schema": "rigwise.model/1", "kind": "text"}')
        assert "kind text" in self.refused(folder).why

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "rigwise.model/1"}', "\xff"])
    def test_a_damaged_card(self, folder: Path, content: str) -> None:
        (folder / "model.json").write_bytes(content.encode("latin-1"))
        assert "cannot read" in self.refused(folder).what

    def test_a_run_of_an_older_rigwise(self, tmp_path: Path) -> None:
        (tmp_path / "model.pt").touch()
        refused = self.refused(tmp_path)
        assert "older rigwise" in refused.why
        assert refused.next_step == f"rigwise train --from {tmp_path}"

    def test_a_program_named_outside_the_folder(self, folder: Path) -> None:
        card = msgspec.structs.replace(open_model(folder).card, program="../secret")
        (folder / "model.json").write_bytes(card_text(card))
        assert "SHA-256" in self.refused(folder).why or "No such file" in self.refused(folder).why
