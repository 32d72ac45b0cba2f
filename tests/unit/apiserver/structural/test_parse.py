"""Schemas are read into nodes."""

from msgspec import UNSET

from mooring.apiserver.structural.contract import ListType, Node, Rule, once
from mooring.apiserver.structural.parse import node_of
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_integer, an_object


def test_every_extension_is_read() -> None:
    schema = an_object(
        ports=a_list(
            an_object(port=an_integer(default=0)),
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"]},
        ),
        tags=a_list(a_text(nullable=True), **{"x-kubernetes-list-type": "set"}),
        size={"x-kubernetes-int-or-string": True},
        template={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-map-type": "atomic",
        },
        labels={"type": "object", "additionalProperties": a_text()},
        anything={"type": "object", "additionalProperties": True},
    )
    node = node_of(schema)
    ports, tags, template = (node.properties[name] for name in ("ports", "tags", "template"))
    assert (ports.list_type, ports.list_keys) == (ListType.MAP, ("port",))
    assert ports.items is not None
    assert ports.items.properties["port"].default == 0
    assert ports.default is UNSET
    assert tags.list_type is ListType.SET
    assert tags.items is not None
    assert tags.items.nullable
    assert node.properties["size"].int_or_string
    assert (template.embedded_resource, template.preserve_unknown, template.atomic) == (True,) * 3
    assert isinstance(node.properties["labels"].additional, Node)
    assert node.properties["anything"].additional is True
    assert node.additional is None
    assert node.written is schema


def test_rules_are_read_with_all_their_fields() -> None:
    entry = {
        "rule": "self.a > 1",
        "message": "m",
        "messageExpression": "'e'",
        "reason": "FieldValueForbidden",
        "fieldPath": ".a",
        "optionalOldSelf": True,
    }
    node = node_of({"type": "object", "x-kubernetes-validations": [entry, {"rule": "true"}]})
    assert node.rules == (
        Rule(
            rule="self.a > 1",
            message="m",
            message_expression="'e'",
            reason="FieldValueForbidden",
            field_path=".a",
            optional_old_self=True,
        ),
        Rule(rule="true"),
    )


def test_what_is_read_out_of_a_node_is_made_once() -> None:
    made: list[Node] = []

    def make(node: Node) -> int:
        made.append(node)
        return len(made)

    node = node_of(an_object())
    assert [once(node, "x", make), once(node, "x", make)] == [1, 1]
    assert node == node_of(an_object())
