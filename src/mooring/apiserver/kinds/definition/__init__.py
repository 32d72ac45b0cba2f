"""CustomResourceDefinition: `definition.py` is the kind, the others are its rules."""
