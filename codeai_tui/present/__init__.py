"""Pure: a view to lines of safe text, for screens and for plain output."""
