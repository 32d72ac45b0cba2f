"""What all loops share: informers, keyed queues, workers, leases, the event recorder.

May import `client`, `model` and below. Start at `informer.py` and `queue.py`.
"""
