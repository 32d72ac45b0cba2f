"""Jobs: pods run until as many as wanted have succeeded, or too many have failed.

A pod of a job has a finalizer until its end is counted: first its uid is written into the status,
then the finalizer goes, then the counter grows. So each is counted once, whenever anybody dies.
Start at `decide/job.py`.
"""
