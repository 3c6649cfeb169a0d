"""Asking an exported model about pictures: torch and the decoders, never timm.

listing    which pictures are meant, and the class each lies in      views   what the model sees of each
predictor  batches to answers, on the CPU or a GPU proved equal      report  answers counted
"""
