"""Scenes and frozen protocols that run on the engine."""
