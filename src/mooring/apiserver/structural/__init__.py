"""Structural schemas of custom resources: read, checked, and applied to documents. All pure."""
