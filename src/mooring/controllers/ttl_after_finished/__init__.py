"""Jobs that have finished are deleted after `ttlSecondsAfterFinished`. Start at `decide.py`."""
