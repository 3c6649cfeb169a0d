"""GPUs, as NVML and every form of nvidia-smi describe them."""
