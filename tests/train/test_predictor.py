"""A model asked about pictures: it sees what validation saw, in order, whatever the pictures and the device are."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from PIL import Image
from simulated_gpu import SimulatedGpu
from torch.utils._python_dispatch import TorchDispatchMode
from train import bad_pictures as odd

import rigwise
from rigwise.errors import BadInput
from rigwise.records.exported import Answer, Sureness, confusion_counts
from rigwise.train.export.model_folder import ExportedModel
from rigwise.train.export.sureness import sureness
from rigwise.train.full_trial import Trained
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.loader import PictureStream
from rigwise.train.pictures.picture_set import Picture
from rigwise.train.predict.predictor import Predictor, predictor_of
from rigwise.train.predict.views import views
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.vram_simulation import simulate_vram

MIB = 2**20


@pytest.fixture(scope="module")
def paths(trained: tuple[PictureLab, Trained]) -> list[Path]:
    """The pictures held back from that run."""
    pictures = trained[0].pictures
    return [pictures.root / picture.path for picture in pictures.test]


def test_a_view_is_bit_equal_to_what_validation_sees(tmp_path: Path) -> None:
    for name, make in odd.READABLE.items():
        odd.write(tmp_path / name, make())
    odd.write(tmp_path / "large.jpg", odd.encoded(odd.photo(7, 1900, 1300), "JPEG"))
    names = sorted(path.name for path in tmp_path.iterdir())
    stream = PictureStream(
        [Picture(path=name, label=0, sha256="") for name in names],
        tmp_path, image_size=48, seed=0, batch_size=len(names), num_threads=0,
    )  # fmt: skip
    (expected,) = [images for images, _ in stream.eval_batches()]
    with closing(views([tmp_path / name for name in names], 48, num_threads=2)) as found:
        seen = [view.pixels for view in found]
    assert all(torch.equal(one, other) for one, other in zip(seen, expected, strict=True))


def test_files_contents_and_pixels_get_the_same_answer(exported_model: ExportedModel, paths: list[Path]) -> None:
    ask = predictor_of(exported_model, device="cpu", top=9)
    by_path = list(ask(paths))
    by_content = list(ask(path.read_bytes() for path in paths))
    by_pixels = list(ask(np.asarray(Image.open(path).convert("RGB")) for path in paths))  # which cannot be written to
    assert [each.top for each in by_path] == [each.top for each in by_content] == [each.top for each in by_pixels]
    assert [each.path for each in by_path] == [str(path) for path in paths]
    assert all(sum(guess.probability for guess in each.top) == pytest.approx(1) for each in by_path)
    assert ask.device == "cpu"


def test_the_library_call_takes_the_run_folder(exported_model: ExportedModel, paths: list[Path]) -> None:
    (answer,) = rigwise.predictor(str(exported_model.folder.parent))(paths[:1])
    assert answer.label in exported_model.card.labels
    assert answer.sure is None  # so few validation pictures calibrate nothing


def test_answers_are_those_of_the_review(
    exported_model: ExportedModel, paths: list[Path], trained: tuple[PictureLab, Trained]
) -> None:
    answers = list(predictor_of(exported_model, device="cpu")(paths))
    review = trained[1].review
    assert [each.label for each in answers] == [exported_model.card.labels[place] for place in review.predictions]
    # The exported program fuses other operators than the trial did: equal but for fp32 rounding.
    assert [each.probability for each in answers] == pytest.approx(review.probabilities.amax(dim=1).tolist(), rel=1e-5)


def test_what_cannot_be_read_is_answered_in_its_place(exported_model: ExportedModel, paths: list[Path]) -> None:
    pictures = [b"", paths[0], Path("nowhere.png"), np.zeros((4, 4), dtype=np.uint8), paths[0]]
    answers = list(predictor_of(exported_model, device="cpu")(pictures))
    assert [each.label is None for each in answers] == [True, False, True, True, False]
    assert "empty file" in answers[0].why_not
    assert "No such file" in answers[2].why_not
    assert "uint8 (4, 4)" in answers[3].why_not


def test_an_iterator_of_pictures_is_not_read_far_ahead(exported_model: ExportedModel, paths: list[Path]) -> None:
    taken: list[int] = []

    def endless() -> Iterator[Path]:
        for number in count():
            taken.append(number)
            yield paths[0]

    with closing(predictor_of(exported_model, device="cpu")(endless())) as answers:
        assert next(answers).label in exported_model.card.labels
    assert len(taken) < 200


class WrongGpu(CpuDevice):
    """A GPU whose every softmax is off."""

    name = "wrong:0"
    is_gpu = True

    def using(self) -> AbstractContextManager[object]:
        return _WrongSoftmax()


class _WrongSoftmax(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 0.9 if "softmax" in str(func) else result


def test_a_gpu_that_gives_something_else_is_not_used(exported_model: ExportedModel, paths: list[Path]) -> None:
    ask = Predictor(exported_model, WrongGpu())
    answers = list(ask(paths))
    assert ask.device == "cpu"
    assert "wrong:0 is not used: its probabilities differ" in ask.notes[0]
    assert answers == list(predictor_of(exported_model, device="cpu")(paths))


def test_a_gpu_is_used_once_proved_and_what_does_not_fit_is_halved(
    exported_model: ExportedModel, paths: list[Path]
) -> None:
    roomy = simulate_vram(64 * MIB)
    ask = Predictor(exported_model, SimulatedGpu(roomy))
    expected = [each.label for each in ask(paths * 6)]
    assert (ask.device, ask.notes) == ("simulated:0", [])
    tight = simulate_vram(roomy.peak_allocated_bytes // 2)
    halved = Predictor(exported_model, SimulatedGpu(tight))
    assert [each.label for each in halved(paths * 6)] == expected
    assert halved.device == "simulated:0"


def test_a_gpu_too_small_for_one_picture_is_not_used(exported_model: ExportedModel, paths: list[Path]) -> None:
    ask = Predictor(exported_model, SimulatedGpu(simulate_vram(4096)))
    assert len(list(ask(paths))) == len(paths)
    assert ask.device == "cpu"
    assert "simulated:0 is not used: " in ask.notes[0]


def test_a_gpu_that_is_asked_for_and_cannot_be_used_is_an_error(
    exported_model: ExportedModel, paths: list[Path]
) -> None:
    with pytest.raises(BadInput, match="no GPU to predict on") as refused:
        list(Predictor(exported_model, WrongGpu(), gpu_or_nothing=True)(paths))
    assert "differ from the CPU's" in refused.value.why


def test_a_gpu_whose_memory_goes_away_is_left(exported_model: ExportedModel, paths: list[Path]) -> None:
    vram = simulate_vram(64 * MIB)
    ask = Predictor(exported_model, SimulatedGpu(vram))
    expected = list(ask(paths))
    assert ask.device == "simulated:0"
    vram.limit_bytes = 0
    answers = list(ask(paths))
    assert [each.label for each in answers] == [each.label for each in expected]
    assert (ask.device, len(ask.notes)) == ("cpu", 1)


@pytest.mark.parametrize("device", ["tpu", *([] if torch.cuda.is_available() else ["cuda"])])
def test_no_such_device(exported_model: ExportedModel, device: str) -> None:
    with pytest.raises(BadInput):
        predictor_of(exported_model, device=device)


@pytest.mark.parametrize(("threshold", "fewest", "most"), [(0.0, 3, 3), (0.34, 0, 2), (0.51, 0, 1), (1.1, 0, 0)])
def test_an_answer_is_sure_when_one_class_is_possible(
    exported_model: ExportedModel, paths: list[Path], threshold: float, fewest: int, most: int
) -> None:
    known = Sureness(threshold_ratio=threshold, coverage_ratio=0.95, num_pictures=40)
    card = msgspec.structs.replace(exported_model.card, sureness=known)
    ask = predictor_of(msgspec.structs.replace(exported_model, card=card), device="cpu", top=3)
    for answer in ask(paths):
        assert fewest <= len(answer.possible) <= most
        assert answer.possible == tuple(guess.label for guess in answer.top if guess.probability >= threshold)
        assert answer.sure is (len(answer.possible) == 1)


def test_possible_classes_hold_the_truth_as_often_as_promised() -> None:
    """Split conformal prediction promises rank / (pictures + 1), here 191 / 201, over all sets of validation pictures.

    The true class gets a probability distributed as Beta(2, 1), of which `threshold` leaves 1 - threshold^2 possible.
    """
    runs = np.random.default_rng(0).beta(2, 1, size=(2000, 200))
    thresholds = np.array([sureness(run.tolist()).threshold_ratio for run in runs])
    assert np.mean(1 - thresholds**2) == pytest.approx(191 / 201, abs=0.0015)


def test_the_confusion_counts_only_what_has_a_truth() -> None:
    def answer(label: str, truth: str) -> Answer:
        return Answer(path="", label=label, probability=1.0, sure=True, truth=truth)

    counts = confusion_counts(("a", "b"), [answer("a", "a"), answer("b", "a"), answer("b", "")])
    assert counts == ((1, 1), (0, 0))
