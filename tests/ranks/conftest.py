from training_lab import easy_pictures, make_lab

__all__ = ["easy_pictures", "make_lab"]
