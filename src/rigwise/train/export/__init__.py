"""The model a run leaves for other programs: weights, an exported program, and what it takes to use them.

pictures   what a picture classifier leaves        program   from a module to a file that needs torch alone, and back
proof      the file equals the model               folder    written whole or not at all
sureness   when an answer is worth a second look   usage     the lines of Python that ask it without rigwise

Another kind of model brings its own module beside `pictures` and shares the rest.
"""
