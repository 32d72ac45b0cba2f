"""A role's informers, as tests that hold back their news reach them."""

from mooring.client.contract import T
from mooring.reconcile.informer import Informer
from mooring.reconcile.reflector import Reflector
from mooring.reconcile.shared_informer import SharedInformer


def reflector_of(informer: Informer[T]) -> Reflector[T]:
    """What lists and watches behind a role's share."""
    assert isinstance(informer, SharedInformer)
    reflector: Reflector[T] = informer._reflector
    return reflector
