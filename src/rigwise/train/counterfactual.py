"""The trained model on swapped backgrounds: does it look at the subject, or at what lies around it?

The same pictures are asked three times: as they are; with backgrounds of pictures of their own class, which shows what
the editing itself costs; and with backgrounds of pictures of another class. Only the loss between the last two counts.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rigwise.records.audit import Counterfactual
from rigwise.speech import say
from rigwise.statistics import difference_interval
from rigwise.train.audit.backgrounds import Background, background_of, donors, with_background
from rigwise.train.full_trial import Trained
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.decode import Pixels
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.scoring import score

MOST_PICTURES = 500
"""Pictures asked about at most, of the split held back: their accuracy is then known within 5 points (95 %)."""
MIN_PICTURES = 20
"""With fewer nothing is said: a loss of one fifth would lie within its 95 % interval."""

Labels = npt.NDArray[np.int64]


def counterfactual(lab: PictureLab, chosen: Trained) -> Counterfactual:
    """What other backgrounds do to the chosen model, on the split held back."""
    pictures, labels = _held_back(lab, chosen.result.batch_size)
    backgrounds = [background_of(picture) for picture in pictures]
    usable = [place for place, found in enumerate(backgrounds) if found is not None]
    kept = [(pictures[place], found) for place, found in enumerate(backgrounds) if found is not None]
    labels = labels[usable]
    num_skipped = len(pictures) - len(kept)
    if len(kept) < MIN_PICTURES or len(np.unique(labels)) < 2:
        return _unknown(chosen, len(pictures))
    as_they_are = _answers(lab, chosen, [picture for picture, _ in kept], labels)
    other = list(donors(labels, same_class=False, seed=lab.recipe.training.seed))
    same = list(donors(labels, same_class=True, seed=lab.recipe.training.seed))
    on_same = _answers(lab, chosen, _swapped(kept, same), labels)
    on_other = _answers(lab, chosen, _swapped(kept, other), labels)
    return _counted(chosen, labels, num_skipped, as_they_are, on_same, on_other, labels[other])


def _held_back(lab: PictureLab, batch_size: int) -> tuple[list[Pixels], Labels]:
    """The pictures of the split nobody chose by, as the model sees them, and their labels."""
    pictures = lab.pictures.test or lab.pictures.val
    drawn = np.random.default_rng(lab.recipe.training.seed).permutation(len(pictures))[:MOST_PICTURES]
    chosen = [pictures[place] for place in sorted(drawn)]
    with closing(lab.material.stream(chosen, batch_size).eval_batches()) as batches:
        images = [image.permute(1, 2, 0).numpy() for batch, _ in batches for image in batch]
    return images, np.array([picture.label for picture in chosen])


def _swapped(kept: Sequence[tuple[Pixels, Background]], donor_places: Sequence[int]) -> list[Pixels]:
    return [
        with_background(picture, own, kept[donor][1]) for (picture, own), donor in zip(kept, donor_places, strict=True)
    ]


def _answers(lab: PictureLab, chosen: Trained, pictures: Sequence[Pixels], labels: Labels) -> Labels:
    """`(N,)`: the class the model names for each picture."""
    built = lab.build()
    built.model.load_state_dict(chosen.weights)
    model = built.model.eval().to(lab.device.torch_device)
    batches = _batches(pictures, labels, chosen.result.batch_size)
    with lab.device.using():
        scores = score(model, Normalise(built.mean, built.std), batches, lab.device, chosen.result.precision)
    answers: Labels = scores.predictions.numpy()
    return answers


def _batches(pictures: Sequence[Pixels], labels: Labels, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    remaining = iter(zip(pictures, labels, strict=True))
    while batch := list(islice(remaining, batch_size)):
        images, truth = zip(*batch, strict=True)
        yield torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous(), torch.tensor(truth)


def _counted(
    chosen: Trained, labels: Labels, num_skipped: int, as_they_are: Labels, same: Labels, other: Labels, donated: Labels
) -> Counterfactual:
    total = len(labels)
    right = [int((answers == labels).sum()) for answers in (as_they_are, same, other)]
    followed = int((other == donated).sum())
    low, high = difference_interval((right[1], total), (right[2], total))
    return Counterfactual(
        trial=chosen.result.name,
        num_pictures=total,
        num_skipped=num_skipped,
        as_they_are=right[0],
        same_class=right[1],
        other_class=right[2],
        followed=followed,
        leans_on_background=low > 0,
        because=_because(low, high, followed),
    )


def _because(low: float, high: float, followed: int) -> str:
    bounds = {"low": f"{100 * low:.0f}", "high": f"{100 * high:.0f}"}
    if low <= 0:
        return say("no loss is seen beyond its 95 % interval, {low} to {high} points", **bounds)
    return say(
        "it leans on the background: that costs {low} to {high} points (95 %), and {followed} answers name the class "
        "the background came from",
        **bounds,
        followed=followed,
    )


def _unknown(chosen: Trained, num_pictures: int) -> Counterfactual:
    return Counterfactual(
        trial=chosen.result.name,
        num_pictures=0,
        num_skipped=num_pictures,
        as_they_are=0,
        same_class=0,
        other_class=0,
        followed=0,
        leans_on_background=False,
        because=say(
            "backgrounds were not swapped: too few of the {count} pictures held back have one that stands out",
            count=num_pictures,
        ),
    )
