from text_laboratory import make_text_lab
from training_lab import easy_pictures, make_lab

__all__ = ["easy_pictures", "make_lab", "make_text_lab"]
