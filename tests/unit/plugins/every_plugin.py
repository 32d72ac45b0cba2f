"""The names of all plugins that there are, found by their classes."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from mooring import plugins
from mooring.model.wellknown import Plugin


def every_plugin() -> frozenset[str]:
    """All plugins of the node but CSI's, which is built with the drivers."""
    return frozenset(_names()) - {Plugin.CSI}


def _names() -> Iterator[str]:
    for found in pkgutil.walk_packages(plugins.__path__, f"{plugins.__name__}."):
        for thing in vars(import_module(found.name)).values():
            is_here = isinstance(thing, type) and thing.__module__ == found.name
            if (
                is_here
                and hasattr(thing, "supports")
                and isinstance(getattr(thing, "name", None), str)
            ):
                yield thing.name
