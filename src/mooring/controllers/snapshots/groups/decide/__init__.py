"""One decision per file: a group, its creation, its members, its deletion."""
