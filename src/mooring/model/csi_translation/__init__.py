"""CSI translation: objects of in-tree plugins as objects of the CSI drivers that replace them.

The handles, attributes and access modes are those of Kubernetes: a volume that was attached under
one of them must be found under it again.
"""
