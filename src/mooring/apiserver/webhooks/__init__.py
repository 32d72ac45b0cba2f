"""Admission webhooks: programs of others that are asked about writes, and may change or refuse."""
