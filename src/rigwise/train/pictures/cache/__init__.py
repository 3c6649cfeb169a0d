"""Decoded pixels kept on disk: `pixel_file` how they lie there, `space` whether they fit, `choice` whether it pays."""
