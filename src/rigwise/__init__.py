"""rigwise makes an NVIDIA machine for AI one you can trust."""

__version__ = "0.1.0"
