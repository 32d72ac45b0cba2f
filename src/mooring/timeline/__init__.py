"""When each step of a pod's start, or of a claim's, happened: reconstructed from what is on record.

Pure: a `Picture` of objects, events and CSI calls in, a `Timeline` out. Reading the picture is the
work of `stack/timeline.py`.
"""
