"""The two priority classes that exist in every cluster: created at each start."""

from contextlib import suppress
from copy import deepcopy

from mooring.apiserver.kinds.priority_class import PRIORITY_CLASS, SYSTEM_CLASSES
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.errors import AlreadyExists


async def create_system_priority_classes(writer: InProcessWriter) -> None:
    """Raises: StoreError."""
    for wanted in SYSTEM_CLASSES.values():
        with suppress(AlreadyExists):
            await writer.create(PRIORITY_CLASS, "", deepcopy(wanted))
