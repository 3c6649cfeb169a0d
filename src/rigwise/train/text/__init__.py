"""Texts for a causal language model.

layout       which files of DATA are texts        records    one file -> its documents
corpus       DATA -> `TextSet`, split             text_set   what it holds           ledger   which were used
tokeniser    text -> numbers and back             tokens     each document tokenised once, kept, mapped
sequences    documents -> rows                    stream     rows -> batches         order    in which order
decoder      the built-in model                   foreign    a local Hugging Face folder, LoRA
models       which of the two                     choices    what follows from that
scoring      what a model says of a split         embedded   notes whose entropy is known
"""
