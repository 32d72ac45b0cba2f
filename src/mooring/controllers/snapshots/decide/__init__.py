"""One decision per file: a snapshot, its creation, its deletion, its content, its claim."""
