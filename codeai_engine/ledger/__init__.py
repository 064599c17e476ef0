"""The file: tables and triggers, the one writer, read-only readers, artifacts."""
