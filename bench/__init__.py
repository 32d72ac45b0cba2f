"""Benchmarks: `make bench` measures and prints a table; nothing here is a timed test."""
