"""Frozen values: what a ledger holds and what a user asks for."""
