"""What is made once from DATA and kept on disk between runs: arrays, known by the SHA-256 of what they were made of."""
