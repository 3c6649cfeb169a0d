from exported_models import exported_model, trained
from training_lab import easy_pictures, make_lab

__all__ = ["easy_pictures", "exported_model", "make_lab", "trained"]
