"""`make release`: everything that is published, into `dist/`. Why it is so: docs/decisions/0031.

Start at `__main__`. Nothing that is built is run, so images may be of any architecture.
"""
