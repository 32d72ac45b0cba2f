"""Admission: one rule per file, listed in `chain.py` in the order they run."""
