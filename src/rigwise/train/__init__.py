"""The guided experiment on the user's own pictures. torch is imported lazily, only in here.

preparation  what was asked for, made usable: recipe, pictures     pictures  from DATA to batches
guided       the whole experiment into one run folder              step      one batch, one trial, one device
experiment   E2 to E6, each step on what the last one showed       network   the model and its first weights
choice       E7: the recommendation                                embedded  pictures drawn by our own code
export       the model it leaves for other programs            predict   an exported model asked
audit        what to know of the pictures before trusting any of it
"""
