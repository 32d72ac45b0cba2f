"""Admission policies that change what is written, and storage version migrations: what can be one.

What a policy changes once it is in force is asked in `test_mutating_policies.py`.
"""

from typing import Any

from tests.conformance.asking import TABLE, Again, Case, Cases, Doc, delete, get, merge, post, put

_GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{_GROUP}/mutatingadmissionpolicies"
BINDINGS = f"{_GROUP}/mutatingadmissionpolicybindings"
VALIDATING = f"{_GROUP}/validatingadmissionpolicies"
MIGRATIONS = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
RULE = {
    "operations": ["CREATE", "UPDATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["nothings"],
}


def applying(expression: str) -> Doc:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> Doc:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


LABELLED = applying('Object{metadata: Object.metadata{labels: {"seen": "yes"}}}')


def a_policy(*changes: Doc, rule: Doc | None = None, **spec: Any) -> Doc:
    match = {"resourceRules": [{**RULE, **(rule or {})}]}
    return {
        "kind": "MutatingAdmissionPolicy",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": "$name"},
        "spec": {
            "matchConstraints": match,
            "mutations": list(changes),
            "reinvocationPolicy": "Never",
            **spec,
        },
    }


def a_binding(**spec: Any) -> Doc:
    return {
        "kind": "MutatingAdmissionPolicyBinding",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": "$name"},
        "spec": {"policyName": "$name", **spec},
    }


def a_migration(group: str = "example.com", resource: str = "$name") -> Doc:
    return {
        "kind": "StorageVersionMigration",
        "apiVersion": "storagemigration.k8s.io/v1",
        "metadata": {"name": "$name"},
        "spec": {"resource": {"group": group, "resource": resource}},
    }


def _made(*changes: Doc, **spec: Any) -> Case:
    return (post(POLICIES, a_policy(*changes, **spec)),)


def _spec(doc: Any) -> Any:
    """Theirs has nobody who carries it out."""
    return doc.get("spec") if isinstance(doc, dict) else doc


_VALIDATION = {
    "metadata": {"name": "$name"},
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "'text'"}],
    },
}

CASES: Cases = {
    "mutating policy: its life": (
        post(POLICIES, a_policy(LABELLED, patching("[JSONPatch{op: 'test', path: '/a'}]"))),
        get(f"{POLICIES}/$name"),
        get(f"{POLICIES}/$name", TABLE),
        put(f"{POLICIES}/$name", Again(0, {"spec": {"failurePolicy": "Ignore"}})),
        merge(f"{POLICIES}/$name", {"metadata": {"labels": {"a": "b"}}}),
        delete(f"{POLICIES}/$name"),
    ),
    "mutating policy binding: its life": (
        post(BINDINGS, a_binding(paramRef={"name": "p", "parameterNotFoundAction": "Deny"})),
        get(f"{BINDINGS}/$name"),
        get(f"{BINDINGS}/$name", TABLE),
        put(f"{BINDINGS}/$name", Again(0, {"spec": {"paramRef": None}})),
        get(f"{BINDINGS}/$name", TABLE),
        delete(f"{BINDINGS}/$name"),
    ),
    "mutating policy of nothing": (post(POLICIES, {"metadata": {"name": "$name"}}),),
    "mutating policy without mutations": _made(),
    "mutating policy that says nothing of reinvocation": _made(LABELLED, reinvocationPolicy=None),
    "mutating policy with another reinvocation": _made(LABELLED, reinvocationPolicy="Often"),
    "mutating policy with another failure policy": _made(LABELLED, failurePolicy="Often"),
    "mutating policy of deletions": _made(LABELLED, rule={"operations": ["DELETE"]}),
    "mutating policy without a type of a patch": _made({"jsonPatch": {"expression": "[]"}}),
    "mutating policy with another type of a patch": _made({"patchType": "Merge"}),
    "mutating policy without a patch": _made({"patchType": "JSONPatch"}),
    "mutating policy without a configuration": _made({"patchType": "ApplyConfiguration"}),
    "mutating policy with both patches": _made(
        {**LABELLED, "jsonPatch": {"expression": "[JSONPatch{op: 'test'}]"}}
    ),
    "mutating policy with an empty expression": _made(applying(" "), patching("")),
    "mutating policy whose object is none": _made(applying("object")),
    "mutating policy whose object is a map": _made(applying("{'a': 'b'}")),
    "mutating policy whose object is a part": _made(applying("Object.spec{}")),
    "mutating policy whose operations are texts": _made(patching("['add']")),
    "mutating policy with no operations at all": _made(patching("[]")),
    "mutating policy with one operation": _made(patching("JSONPatch{op: 'test'}")),
    "mutating policy with perhaps an operation": _made(
        patching("has(object.data) ? [JSONPatch{op: 'test', path: '/a'}] : []")
    ),
    "mutating policy with an optional member": _made(
        patching("[JSONPatch{op: 'test', path: '/a', ?value: object.?data}]")
    ),
    "mutating policy with a member of another type": _made(patching("[JSONPatch{op: 1}]")),
    "mutating policy that does not parse": _made(applying("Object{")),
    "mutating policy with an unknown type": _made(applying("Thing{}")),
    "mutating policy with an unknown function": _made(patching("jsonpatch.unescapeKey('a')")),
    "mutating policy with parameters that it has not": _made(applying("Object{data: params.data}")),
    "mutating policy with a constructor in a variable": _made(
        LABELLED, variables=[{"name": "v", "expression": "Object{}"}]
    ),
    "mutating policy with a condition of another type": _made(
        LABELLED, matchConditions=[{"name": "c", "expression": "'a'"}]
    ),
    "mutating policy with parameters in a condition, and none": _made(
        LABELLED, matchConditions=[{"name": "c", "expression": "params.a == 'b'"}]
    ),
    "mutating policy with half a kind of parameters": _made(LABELLED, paramKind={"kind": "A"}),
    "mutating policy binding of nothing": (post(BINDINGS, {"metadata": {"name": "$name"}}),),
    "mutating policy binding of what is no name": (post(BINDINGS, a_binding(policyName="No")),),
    "mutating policy binding with half a reference": (
        post(BINDINGS, a_binding(paramRef={"name": "p"})),
    ),
    "mutating policy binding of deletions": (
        post(
            BINDINGS,
            a_binding(matchResources={"resourceRules": [{**RULE, "operations": ["DELETE"]}]}),
        ),
    ),
    "validating policy whose expression is a text": (post(VALIDATING, _VALIDATION),),
    "migration: its life": (
        post(MIGRATIONS, a_migration("gone.example.com", "things")),
        get(f"{MIGRATIONS}/$name", view=_spec),
        delete(f"{MIGRATIONS}/$name"),
    ),
    "migration of nothing": (post(MIGRATIONS, {"metadata": {"name": "$name"}}),),
    "migration of what is no resource": (post(MIGRATIONS, a_migration(resource="No")),),
    "migration of what is no group": (post(MIGRATIONS, a_migration(group="No")),),
}
