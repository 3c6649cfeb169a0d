"""Texts for a causal language model.

layout       which files of DATA are texts        records    one file -> its documents
corpus       DATA -> `TextSet`, split             text_set   what it holds
tokeniser    text -> numbers and back             tokens     each document tokenised once, kept, mapped
stream       batches: packed, or bucketed         scoring    what a model says of a split
decoder      the built-in model                   foreign    a local Hugging Face folder, LoRA
"""
