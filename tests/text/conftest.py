from text_laboratory import make_text_lab

__all__ = ["make_text_lab"]
