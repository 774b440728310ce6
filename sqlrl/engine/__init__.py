"""The only code that executes SQL."""
