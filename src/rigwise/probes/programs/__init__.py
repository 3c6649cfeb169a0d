"""What programs printed: error texts, failed allocations, profiles."""
