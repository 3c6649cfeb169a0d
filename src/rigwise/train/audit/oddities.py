"""Pictures that are unlike the rest in a way that harms: dark, bright, flat, blurred, of odd shape or size.

Each limit is absolute, and what depends on the camera (blur, shape, size) must also stand out from the set: a set of
small or soft pictures is as it is, and its every picture is no suspect. Pure.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from rigwise.speech import say
from rigwise.train.audit.look import Look
from rigwise.units import significant

MAX_DARK = 64.0
"""99th percentile of grey, of 255: no part is brighter than a quarter. cleanvision 0.3.7 takes 0.32 of full light."""
MIN_BRIGHT = 240.0
"""5th percentile of grey, of 255: nearly all is white. cleanvision 0.3.7 takes 0.95 of full brightness."""
MIN_CONTRAST = 16.0
"""Grey levels from the 1st to the 99th percentile. Our choice: less is hardly seen on a screen."""
MIN_BLUR_RATIO = 0.6
MIN_BLUR_ABOVE_MEDIAN = 0.2
"""`light.blur_effect`. Our choice: sharp drawings stay below 0.45, a blur of 5 px in 256 px reaches 0.67 (medians)."""
MAX_ASPECT = 3.0
"""Longest to shortest side. Our choice: the middle square, which validation sees, is then a third of the picture."""
MAX_ASPECT_RATIO = 2.0
"""Aspect against the median of the set: in a set of banners a banner is as it is. Our choice."""
MAX_SIDE_RATIO = 4.0
"""Shortest side against the median of the set. Our choice: enlarged fourfold, a picture shows blocks or blur."""


def find_odd(looks: Sequence[Look]) -> Iterator[tuple[int, str]]:
    """Place and reason of every odd picture."""
    if not looks:
        return
    usual_blur = median(look.blur_ratio for look in looks)
    usual_side = median(min(look.width, look.height) for look in looks)
    usual_aspect = median(_aspect(look) for look in looks)
    for place, look in enumerate(looks):
        reasons = [*_light(look), *_blur(look, usual_blur), *_shape(look, usual_side, usual_aspect)]
        if reasons:
            yield place, "; ".join(reasons)


def _light(look: Look) -> Iterator[str]:
    if look.lightest < MAX_DARK:
        yield say("dark: 99 % of it is below {level} of 255", level=significant(look.lightest))
    elif look.darkest > MIN_BRIGHT:
        yield say("bright: 95 % of it is above {level} of 255", level=significant(look.darkest))
    if look.contrast < MIN_CONTRAST:
        yield say("hardly any contrast: {spread} of 255 grey levels", spread=significant(look.contrast))


def _blur(look: Look, usual: float) -> Iterator[str]:
    if look.contrast >= MIN_CONTRAST and look.blur_ratio >= max(MIN_BLUR_RATIO, usual + MIN_BLUR_ABOVE_MEDIAN):
        yield say(
            "blurred: {ratio} of 1, the middle of the set is {usual}",
            ratio=significant(look.blur_ratio, 2),
            usual=significant(usual, 2),
        )


def _shape(look: Look, usual_side: float, usual_aspect: float) -> Iterator[str]:
    size = say("{width} x {height} pixels", width=look.width, height=look.height)
    if _aspect(look) >= max(MAX_ASPECT, MAX_ASPECT_RATIO * usual_aspect):
        yield say("odd shape: {size}, {ratio} : 1", size=size, ratio=significant(_aspect(look), 2))
    side, usual = min(look.width, look.height), int(usual_side)
    if side * MAX_SIDE_RATIO <= usual_side:
        yield say("small: {size}; half of the set has more than {usual} on its short side", size=size, usual=usual)
    elif side >= MAX_SIDE_RATIO * usual_side:
        yield say("large: {size}; half of the set has less than {usual} on its short side", size=size, usual=usual)


def _aspect(look: Look) -> float:
    return max(look.width, look.height) / min(look.width, look.height)
