"""The terminal app in which a person reads a ledger."""
