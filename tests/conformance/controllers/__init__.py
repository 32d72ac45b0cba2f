"""Stories that are played on real Kubernetes and on Mooring, and must end alike.

`story.py` is what can happen, `stage.py` where it happens, `picture.py` what is compared. `table/`
holds stories that say how they end, `draw.py` makes up others from a number.
"""
