"""Data that crosses rooms; no I/O."""
