import pytest

from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, complaints
from tests.unit.apiserver.kinds.writing import NO_LABEL, NO_SUBDOMAIN

AT = "spec.containers[0].env[0]"
PRINTABLE = (
    "a valid environment variable name must consist only of printable ASCII characters "
    "other than '='"
)


def source(**given: Doc) -> Doc:
    return {"name": "N", "valueFrom": given}


KEY = {"name": "s", "key": "k"}
ENV: dict[str, tuple[Doc, list[str]]] = {
    "a value": ({"name": "N", "value": "v"}, []),
    "an odd name": ({"name": "my.name with-space", "value": "v"}, []),
    "a name is required": ({"value": "v"}, [f"{AT}.name: Required value"]),
    "no equal sign": ({"name": "A=B"}, [f'{AT}.name: Invalid value: "A=B": {PRINTABLE}']),
    "no other letters": ({"name": "é"}, [f'{AT}.name: Invalid value: "é": {PRINTABLE}']),
    "a field of the pod": (source(fieldRef={"fieldPath": "status.podIP"}), []),
    "a field that there is": (
        source(fieldRef={}),
        [f"{AT}.valueFrom.fieldRef.fieldPath: Required value"],
    ),
    "a resource of the container": (source(resourceFieldRef={"resource": "limits.cpu"}), []),
    "a resource that there is": (
        source(resourceFieldRef={}),
        [f"{AT}.valueFrom.resourceFieldRef.resource: Required value"],
    ),
    "a key of a secret": (source(secretKeyRef=KEY), []),
    "a key of a config map": (source(configMapKeyRef=KEY), []),
    "a secret with a name": (
        source(secretKeyRef={"name": "Not_A_Name", "key": "k"}),
        [f'{AT}.valueFrom.secretKeyRef.name: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "a key is required": (
        source(configMapKeyRef={"name": "c"}),
        [f"{AT}.valueFrom.configMapKeyRef.key: Required value"],
    ),
    "a proper one": (
        source(configMapKeyRef={"name": "c", "key": ".."}),
        [f"{AT}.valueFrom.configMapKeyRef.key: Invalid value: \"..\": must not be '..'"],
    ),
    "a key in a file": (
        source(fileKeyRef={"key": "K", "volumeName": "v", "path": "p"}),
        [],
    ),
    "all of it is required": (
        source(fileKeyRef={}),
        [
            f"{AT}.valueFrom.fileKeyRef.key: Required value",
            f"{AT}.valueFrom.fileKeyRef.volumeName: Required value",
            f"{AT}.valueFrom.fileKeyRef.path: Required value",
        ],
    ),
    "and proper": (
        source(fileKeyRef={"key": "K=", "volumeName": "Not_A_Name", "path": "../p"}),
        [
            f'{AT}.valueFrom.fileKeyRef.key: Invalid value: "K=": {PRINTABLE}',
            f'{AT}.valueFrom.fileKeyRef.volumeName: Invalid value: "Not_A_Name": {NO_LABEL}',
            f"{AT}.valueFrom.fileKeyRef.path: Invalid value: \"../p\": must not contain '..'",
        ],
    ),
    "from somewhere": (
        source(),
        [
            f'{AT}.valueFrom: Invalid value: "": must specify one of: `fieldRef`, '
            "`resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        ],
    ),
    "from one place": (
        source(secretKeyRef=KEY, configMapKeyRef=KEY),
        [
            f'{AT}.valueFrom: Invalid value: "": '
            "may not have more than one field specified at a time"
        ],
    ),
    "given or read, not both": (
        {**source(secretKeyRef=KEY), "value": "v"},
        [f'{AT}.valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ),
}


@pytest.mark.parametrize(("variable", "expected"), ENV.values(), ids=ENV)
def test_variables(variable: Doc, expected: list[str]) -> None:
    assert complaints(a_container(env=[variable])) == expected


FROM = "spec.containers[0].envFrom"
ENV_FROM: dict[str, tuple[Doc, list[str]]] = {
    "all of a config map": ({"configMapRef": {"name": "c"}}, []),
    "all of a secret": ({"secretRef": {"name": "s"}, "prefix": "S_"}, []),
    "a named one": ({"secretRef": {}}, [f"{FROM}[0].secretRef.name: Required value"]),
    "with a proper name": (
        {"configMapRef": {"name": "Not_A_Name"}},
        [f'{FROM}[0].configMapRef.name: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "behind a proper prefix": (
        {"secretRef": {"name": "s"}, "prefix": "="},
        [f'{FROM}[0].prefix: Invalid value: "=": {PRINTABLE}'],
    ),
    "of something": (
        {"prefix": "S_"},
        [f'{FROM}: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
    ),
    "of one thing": (
        {"secretRef": {"name": "s"}, "configMapRef": {"name": "c"}},
        [f'{FROM}: Invalid value: "": may not have more than one field specified at a time'],
    ),
}


@pytest.mark.parametrize(("given", "expected"), ENV_FROM.values(), ids=ENV_FROM)
def test_all_of_something(given: Doc, expected: list[str]) -> None:
    assert complaints(a_container(envFrom=[given])) == expected
