"""What others publish, applied unchanged."""
