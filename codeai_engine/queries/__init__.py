"""The read side: one answer per screen, from pages and streams of a ledger."""
