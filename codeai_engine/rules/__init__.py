"""Pure rules: same values in, same bytes out; no clock, disk or network."""
