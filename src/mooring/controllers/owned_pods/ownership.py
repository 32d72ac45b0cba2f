"""Owner references: how an object says whose it is, and what adopting and releasing it writes."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from mooring.model.document import Doc
from mooring.model.meta import ApiObject, OwnerReference
from mooring.model.selector import LabelSelector

Child = TypeVar("Child", bound=ApiObject)


class Split(msgspec.Struct, Generic[Child], frozen=True):
    """Objects by what an owner makes of them."""

    kept: tuple[Child, ...]  # its own, that match
    adopted: tuple[Child, ...]  # of nobody, that match
    released: tuple[Child, ...]  # its own, that no longer match


def split(
    owner: ApiObject,
    selector: LabelSelector,
    children: Iterable[Child],
    fits: Callable[[Child], bool] = lambda _: True,
) -> Split[Child]:
    """Always true:

    - Only an object without a controller that matches is adopted; one of another owner is left
      alone.
    - An owner that is being deleted adopts and releases nothing; an object that is being deleted is
      not adopted.
    """
    kept: list[Child] = []
    adopted: list[Child] = []
    released: list[Child] = []
    for child in children:
        controller = child.metadata.find_controller()
        matches = selector.matches(child.metadata.labels) and fits(child)
        if controller is None:
            if matches and not owner.is_deleting and not child.is_deleting:
                adopted.append(child)
        elif controller.uid == owner.uid:
            if matches:
                kept.append(child)
            elif not owner.is_deleting:
                released.append(child)
    return Split(tuple(kept), tuple(adopted), tuple(released))


def reference_of(owner: ApiObject) -> Doc:
    """How an object says that this is its controller."""
    return {
        "apiVersion": owner.resource.api_version,
        "kind": owner.resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def references_with(child: ApiObject, owner: ApiObject) -> list[Doc]:
    """The owner references of an object that is adopted."""
    return [*_documents(child.metadata.owner_references), reference_of(owner)]


def references_without(child: ApiObject, owner: ApiObject) -> list[Doc]:
    """The owner references of an object that is released."""
    return _documents(each for each in child.metadata.owner_references if each.uid != owner.uid)


def _documents(references: Iterable[OwnerReference]) -> list[Doc]:
    return [msgspec.json.decode(msgspec.json.encode(reference)) for reference in references]
