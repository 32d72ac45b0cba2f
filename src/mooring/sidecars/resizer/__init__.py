"""The resizer: claims that ask for more grow, those that ask for another attributes class change.

Of one claim, growing and changing come one after the other. Start at `decide/resize.py`.
"""
