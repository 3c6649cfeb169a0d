"""The lines of Python that ask an exported program about one picture, with torch, NumPy and Pillow and without rigwise.

They stand in model.json and in the README, and a test runs them as they are.
"""

USAGE = """\
import json, pathlib, sys
import numpy, torch
from PIL import Image, ImageOps

card = json.loads(pathlib.Path("model.json").read_text(encoding="utf-8"))
program = torch.export.load("model.pt2").module()
picture = ImageOps.exif_transpose(Image.open(sys.argv[1])).convert("RGB")
side = min(picture.size)
left, top = (picture.width - side) // 2, (picture.height - side) // 2
square = numpy.array(picture.crop((left, top, left + side, top + side)))
image = torch.from_numpy(square).permute(2, 0, 1)[None]
image = torch.nn.functional.interpolate(image, size=(card["image_size"],) * 2, mode="bilinear", antialias=True)
probabilities = program(image)[0]
print(card["labels"][int(probabilities.argmax())], float(probabilities.max()))
"""
