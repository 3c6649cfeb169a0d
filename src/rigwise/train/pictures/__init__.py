"""From a DATA folder to batches: what is a picture, which split it belongs to, and how it reaches the model."""
