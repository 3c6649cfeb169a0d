"""Which model, and where its first weights come from."""
