"""Carrying out a resizer's plans: records in the API, and calls to the driver."""
