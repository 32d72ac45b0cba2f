"""The functions that expressions may call, one file per library."""
