"""Driver, frameworks, packages, containers."""
