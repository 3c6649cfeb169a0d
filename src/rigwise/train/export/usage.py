"""The lines of Python that ask an exported program about one picture, with torch, NumPy and Pillow and without rigwise.

They stand in model.json and in the README, and a test runs them as they are.
"""

USAGE = """\
import json, sys
import numpy, torch
from PIL import Image, ImageOps

card = json.load(open("model.json", encoding="utf-8"))
program = torch.export.load("model.pt2").module()
picture = ImageOps.exif_transpose(Image.open(sys.argv[1])).convert("RGB")
side, (left, top) = min(picture.size), [(each - min(picture.size)) // 2 for each in picture.size]
square = numpy.array(picture.crop((left, top, left + side, top + side)))
image = torch.from_numpy(square).permute(2, 0, 1)[None]
image = torch.nn.functional.interpolate(image, size=(card["image_size"],) * 2, mode="bilinear", antialias=True)
probabilities = program(image)[0]
print(card["labels"][int(probabilities.argmax())], float(probabilities.max()))
"""
