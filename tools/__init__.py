"""The only code that touches data."""
