"""One batch and one trial on one device: the training loop and what measures it."""
