"""`python -m release.rights`: what the chart grants, out of the roles that the API server has.

The file is committed; `tests/unit/release/test_chart.py` says when it is stale.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from mooring.apiserver.auth.roles import (
    EVERY_SIDECAR,
    LEASES,
    RULES_BY_CONTROLLER,
    RULES_BY_SIDECAR,
    VOLUME_CONTROLLERS,
)
from mooring.apiserver.auth.rules import Rule
from mooring.stack.sidecar_rbac import rule_document

FILE = Path(__file__).parents[1] / "deploy/helm/mooring/files/rights.yaml"
_HEAD = "# Written by `make chart-rights` from src/mooring/apiserver/auth/roles.py.\n"


def text() -> str:
    document = {
        "leases": _rules([LEASES]),
        "controllers": {name: _rules(rules) for name, rules in RULES_BY_CONTROLLER.items()},
        "otherControllers": _rules(VOLUME_CONTROLLERS),
        "everySidecar": _rules(EVERY_SIDECAR),
        "sidecars": {name: _rules(rules) for name, rules in RULES_BY_SIDECAR.items()},
    }
    written = yaml.dump(document, Dumper=_Plain, sort_keys=False, default_flow_style=None)
    return f"{_HEAD}{written}"


class _Plain(yaml.SafeDumper):
    """Without anchors: the same list is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _rules(rules: Iterable[Rule]) -> list[Any]:
    return [rule_document(rule) for rule in rules]


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
