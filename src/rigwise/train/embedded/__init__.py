"""Product pictures in five classes, drawn by our own code with Pillow, for demonstrations and measurements.

    outlines  shapes as points               textures  what a surface is made of, and colours
    pen       paints surfaces with light     scene     backgrounds, shadows, and the camera
    shoes bags jackets watches accessories   how each product is drawn, one function per design
    settings  what to make                   plan      each picture's class, label and seed, before drawing
    picture   one picture                    generate  the whole folder, and the truth about it

They are drawings: good for trying a machine and a pipeline, no measure of how well a model does on photographs.
"""

from rigwise.train.embedded.generate import already_drawn, make_pictures
from rigwise.train.embedded.settings import CLASSES, EmbeddedSet

__all__ = ["CLASSES", "EmbeddedSet", "already_drawn", "make_pictures"]
