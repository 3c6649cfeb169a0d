"""Cuts a text that somebody pasted into answers to the questions probes ask. Must not decide what an answer means.

decoding   bytes to one text
cleaning   the text without escapes, quotation marks, HTML and the marks of log collectors
sections   what stands below one prompt, heading or fence, and what is expected there
cutting    each line to the kind of knowledge/evidence_kinds it belongs to; the rest is what programs printed
pieces     all lines that answer one question, together
"""
