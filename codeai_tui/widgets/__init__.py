"""Widgets that know values, not ledgers."""
