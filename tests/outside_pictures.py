"""Product drawings by other hands (shared/data/products) put on generated backgrounds, for tests and benchmarks."""

from pathlib import Path
from random import Random

from PIL import Image

from rigwise.train.embedded.scene import BACKGROUNDS, photographed, pick_background_colour, shadowed

CANVAS_PX = 256


def composite_products(shared: Path, folder: Path, per_class: int, seed: int) -> Path:
    """One folder of classes with `per_class` JPEG pictures each, every drawing once before any is used again.

    Names keep code point and style: `1f45f__google__0003.jpg`.
    """
    for source in sorted((shared / "data" / "products").iterdir()):
        if not source.is_dir():
            continue
        drawings = sorted(source.glob("*.webp"))
        Random(f"{seed}/{source.name}").shuffle(drawings)
        target = folder / source.name
        target.mkdir(parents=True)
        for i in range(per_class):
            drawing = drawings[i % len(drawings)]
            picture = _composite(drawing, Random(f"{seed}/{source.name}/{i}"))
            picture.save(target / f"{drawing.stem}__{i:04d}.jpg", quality=88)
    return folder


def style_of(picture: Path) -> str:
    """Who drew it: `google`, `twitter`, `fluent3d`, `fluentflat` or `fluentmodern`."""
    return picture.stem.split("__")[1]


def _composite(drawing: Path, rng: Random) -> Image.Image:
    with Image.open(drawing) as opened:
        product = opened.convert("RGBA")
    side = round(CANVAS_PX * rng.uniform(0.5, 0.9))
    product = product.resize((side, side), Image.Resampling.LANCZOS)
    product = product.rotate(rng.gauss(0, 12), Image.Resampling.BICUBIC, expand=True)
    layer = Image.new("RGBA", (CANVAS_PX, CANVAS_PX))
    corner = tuple(rng.randint(*sorted((0, CANVAS_PX - length))) for length in product.size)
    layer.paste(product, (corner[0], corner[1]))
    background = BACKGROUNDS[rng.choice(list(BACKGROUNDS))](layer.size, pick_background_colour(rng), rng)
    scene = shadowed(background, layer.getchannel("A"), (-0.5, -0.8), rng)
    scene.paste(layer.convert("RGB"), (0, 0), layer.getchannel("A"))
    return photographed(scene, rng.uniform(0.85, 1.25), rng)
