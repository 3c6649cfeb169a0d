"""The drawings by other hands, composited: what tests and benchmarks rely on."""

from collections import Counter
from pathlib import Path

from outside_pictures import composite_products, style_of
from PIL import Image


def test_composites_are_repeatable_and_use_every_drawing_before_any_twice(shared: Path, tmp_path: Path) -> None:
    one, two = (composite_products(shared, tmp_path / name, per_class=8, seed=3) for name in ("one", "two"))
    paths = sorted(path.relative_to(one) for path in one.rglob("*.jpg"))
    assert Counter(path.parent.name for path in paths) == dict.fromkeys(
        ("accessories", "bags", "jackets", "shoes", "watches"), 8
    )
    assert all((one / path).read_bytes() == (two / path).read_bytes() for path in paths)
    assert len({(path.parent, path.stem.rsplit("__", 1)[0]) for path in paths}) == len(paths)
    assert {style_of(path) for path in paths} <= {"google", "twitter", "fluent3d", "fluentflat", "fluentmodern"}
    with Image.open(one / paths[0]) as picture:
        assert (picture.format, picture.mode, picture.size) == ("JPEG", "RGB", (256, 256))
