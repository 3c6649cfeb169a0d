"""How GPUs, CPUs and bridges are connected, and how fast copies between them are."""
