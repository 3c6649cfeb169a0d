"""The machine around the GPUs: CPU, memory, disks, network."""
