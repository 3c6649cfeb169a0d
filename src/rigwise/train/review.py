"""The predictions a person should look at: the recommended model's, worst first."""

from PIL import Image

from rigwise.records.run import Confusion, Prediction
from rigwise.speech import printable
from rigwise.train.full_trial import Trained
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.decode import decode_bytes
from rigwise.train.pictures.picture_bytes import read_picture
from rigwise.train.pictures.picture_set import Picture
from rigwise.train.pictures.thumbnail import thumbnail
from rigwise.train.step.scoring import Scores

NUM_REVIEWED = 40


def review(lab: PictureLab, chosen: Trained) -> tuple[Confusion, tuple[Prediction, ...]]:
    """The confusion matrix and the first predictions, largest loss first, on the split held back."""
    split = "test" if lab.pictures.test else "val"
    pictures = lab.pictures.test or lab.pictures.val
    scores = _scores(chosen)
    confusion = Confusion(
        trial=chosen.result.name,
        split=split,
        classes=lab.pictures.classes,
        counts=scores.confusion(len(lab.pictures.classes)),
    )
    worst = scores.losses.argsort(descending=True, stable=True)[:NUM_REVIEWED].tolist()
    return confusion, tuple(_prediction(lab, pictures[place], chosen, place) for place in worst)


def _prediction(lab: PictureLab, picture: Picture, chosen: Trained, place: int) -> Prediction:
    scores = _scores(chosen)
    predicted = int(scores.predictions[place])
    return Prediction(
        path=printable(picture.path),
        truth=lab.pictures.classes[picture.label],
        predicted=lab.pictures.classes[predicted],
        probability=float(scores.probabilities[place, predicted]),
        truth_probability=float(scores.probabilities[place, picture.label]),
        loss=float(scores.losses[place]),
        thumbnail=thumbnail(decode_for_thumbnail(lab, picture)),
    )


def decode_for_thumbnail(lab: PictureLab, picture: Picture) -> Image.Image:
    """The picture as the network saw it before cropping."""
    return Image.fromarray(decode_bytes(read_picture(lab.pictures.root, picture.path, picture.inside)))


def _scores(chosen: Trained) -> Scores:
    """What a model of pictures says of each of them."""
    assert isinstance(chosen.review, Scores)
    return chosen.review
