"""Tables as package data: GPUs, NVML calls, metrics, the check catalogue. Validated once, each row with its source."""
