"""What a resizer decides: pure functions of a claim and its volume."""
