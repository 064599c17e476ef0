"""Providers: a pure prepare, an effectful send, a pure interpret."""
