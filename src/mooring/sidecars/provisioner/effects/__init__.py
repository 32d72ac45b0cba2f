"""Carrying out what was decided about claims and volumes."""
