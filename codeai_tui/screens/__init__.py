"""One place each: a screen composes, binds keys and moves values."""
