"""ControllerRevisions: the templates that stateful sets and daemon sets had, to go back to.

`decide.py` finds the revision of the template and those to forget, `plan.py` has the steps,
`effects.py` carries them out, and `index.py` finds the revisions of an owner.
"""
