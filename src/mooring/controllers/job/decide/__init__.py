"""What becomes of a job: start at `job.py`."""
