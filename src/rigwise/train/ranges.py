"""Values of a recipe outside their range, in words."""

from collections.abc import Iterator

from rigwise.speech import say


def outside(name: str, value: float, low: float, high: float) -> Iterator[str]:
    """The fault of a value that is not from `low` to `high`, if it is one."""
    # `not (low <= value)` rather than `value < low`: NaN must be refused too.
    if not low <= value <= high:
        yield say("{name} = {value}: must be from {low} to {high}", name=name, value=value, low=low, high=high)
