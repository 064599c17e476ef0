"""Effects in order: a fan-out, its branches, their attempts."""
