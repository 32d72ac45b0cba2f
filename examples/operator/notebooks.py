"""An operator in one file: a claim for every Notebook, its phase as status, and a finalizer.

    kubectl apply -f examples/operator/definition.yaml
    KUBECONFIG=data/kubeconfig python examples/operator/notebooks.py

Needs the client of PyPI: `pip install kubernetes`. In a pod it takes the pod's service account.
Whatever happens, it looks at what is there now and does the next step, so it may be stopped and
started again at any time.
"""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException, NotFoundException
from urllib3.exceptions import HTTPError

KIND = ("example.com", "v1")
PLURAL = "notebooks"
LABEL = "example.com/notebook"
FINALIZER = "example.com/claim"
AGAIN_SECONDS = 1.0  # after an error

_log = logging.getLogger("notebooks")

Doc = dict[str, Any]
Key = tuple[str, str]  # namespace, name


class Operator:
    """Brings Notebooks and their claims together."""

    def __init__(self, api: client.ApiClient) -> None:
        self._core = client.CoreV1Api(api)
        self._custom = client.CustomObjectsApi(api)
        self._changed: queue.Queue[Key] = queue.Queue()

    def run(self) -> None:
        """Works until the process ends."""
        claims = self._core.list_persistent_volume_claim_for_all_namespaces
        self._follow(_key_of_notebook, self._custom.list_cluster_custom_object, *KIND, PLURAL)
        self._follow(_key_of_claim, claims, label_selector=LABEL)
        while True:
            key = self._changed.get()
            try:
                self.reconcile(*key)
            except ApiException as error:
                _log.warning("%s: %s %s; again soon", "/".join(key), error.status, error.reason)
                threading.Timer(AGAIN_SECONDS, self._changed.put, [key]).start()

    def reconcile(self, namespace: str, name: str) -> None:
        """The next step for one Notebook."""
        notebook = self._notebook(namespace, name)
        if notebook is None:
            return
        claim = self._claim(namespace, name)
        if "deletionTimestamp" in notebook["metadata"]:
            self._end(notebook, claim)
        elif FINALIZER not in notebook["metadata"].get("finalizers", []):
            self._set_finalizers(notebook, [*_finalizers(notebook), FINALIZER])
        elif claim is None:
            self._core.create_namespaced_persistent_volume_claim(namespace, _claim_for(notebook))
        else:
            self._tell(notebook, claim.status.phase)

    def _end(self, notebook: Doc, claim: Any) -> None:
        """The claim first; when it is gone, the Notebook may go."""
        if FINALIZER not in _finalizers(notebook):
            return
        if claim is None:
            others = [each for each in _finalizers(notebook) if each != FINALIZER]
            self._set_finalizers(notebook, others)
        elif claim.metadata.deletion_timestamp is None:
            place = (claim.metadata.name, claim.metadata.namespace)
            only = client.V1Preconditions(uid=claim.metadata.uid)
            self._core.delete_namespaced_persistent_volume_claim(
                *place, body=client.V1DeleteOptions(preconditions=only)
            )
            self._tell(notebook, "Ending")

    def _set_finalizers(self, notebook: Doc, finalizers: list[str]) -> None:
        version = notebook["metadata"]["resourceVersion"]  # a conflict if somebody was faster
        body = {"metadata": {"finalizers": finalizers, "resourceVersion": version}}
        self._custom.patch_namespaced_custom_object(*_place(notebook), body)

    def _tell(self, notebook: Doc, phase: str) -> None:
        status = {
            "phase": phase,
            "claim": _claim_name(notebook["metadata"]["name"]),
            "observedGeneration": notebook["metadata"]["generation"],
        }
        if status != notebook.get("status"):
            body = {"status": status}
            self._custom.patch_namespaced_custom_object_status(*_place(notebook), body)

    def _notebook(self, namespace: str, name: str) -> Doc | None:
        return _found(
            lambda: self._custom.get_namespaced_custom_object(*KIND, namespace, PLURAL, name)
        )

    def _claim(self, namespace: str, name: str) -> Any:
        read = self._core.read_namespaced_persistent_volume_claim
        return _found(lambda: read(_claim_name(name), namespace))

    def _follow(self, key: Callable[[Any], Key], listed: Any, *which: str, **how: str) -> None:
        """Puts what changes into the queue; a watch that ends starts with a new list."""

        def go() -> None:
            while True:
                try:
                    for event in watch.Watch().stream(listed, *which, **how):
                        self._changed.put(key(event["object"]))
                except NotFoundException:
                    _log.warning("there are no %s: apply definition.yaml", PLURAL)
                    threading.Event().wait(AGAIN_SECONDS)
                except (ApiException, HTTPError) as error:  # a server that is away comes back
                    _log.warning("watching again: %s", type(error).__name__)
                    threading.Event().wait(AGAIN_SECONDS)

        threading.Thread(target=go, daemon=True).start()


def _claim_for(notebook: Doc) -> Doc:
    name = notebook["metadata"]["name"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": _claim_name(name), "labels": {LABEL: name}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": notebook["spec"]["size"]}},
        },
    }


def _claim_name(name: str) -> str:
    return f"notebook-{name}"


def _finalizers(notebook: Doc) -> list[str]:
    return list(notebook["metadata"].get("finalizers", []))


def _place(notebook: Doc) -> tuple[str, ...]:
    metadata = notebook["metadata"]
    return (*KIND, metadata["namespace"], PLURAL, metadata["name"])


def _key_of_notebook(notebook: Doc) -> Key:
    return notebook["metadata"]["namespace"], notebook["metadata"]["name"]


def _key_of_claim(claim: Any) -> Key:
    return claim.metadata.namespace, claim.metadata.labels[LABEL]


def _found(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ApiException as error:
        if error.status != 404:
            raise
        return None


if __name__ == "__main__":
    config.load_config()
    logging.basicConfig(level=logging.INFO)
    _log.info("looking after notebooks")
    Operator(client.ApiClient()).run()
