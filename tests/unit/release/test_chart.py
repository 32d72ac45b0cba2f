"""The chart grants what the roles say, and gets its version from the package."""

import re
import tarfile
from pathlib import Path

import yaml

from mooring import __version__
from release import chart, rights

CHART = rights.FILE.parents[1]


def test_the_rights_in_the_chart_are_those_of_the_roles() -> None:
    assert rights.FILE.read_text() == rights.text(), "run `make chart-rights`"


def test_every_sidecar_that_the_schema_allows_has_rights() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    driver = schema["properties"]["drivers"]["items"]["properties"]
    allowed = set(driver["sidecars"]["items"]["enum"]) - {"all"}
    assert allowed <= set(yaml.safe_load(rights.FILE.read_text())["sidecars"])


def test_the_controllers_that_it_runs_by_itself_get_no_secrets_and_change_no_pods() -> None:
    granted = yaml.safe_load(rights.FILE.read_text())["controllers"]
    chosen = yaml.safe_load((CHART / "values.yaml").read_text())["controllers"]["run"]
    rules = [rule for name in chosen for rule in granted[name]]
    named = {resource.partition("/")[0] for rule in rules for resource in rule["resources"]}
    assert not named & {"secrets", "pods", "volumeattachments"}, named
    writable = {
        resource for rule in rules if "create" in rule["verbs"] for resource in rule["resources"]
    }
    assert not writable & {"persistentvolumes", "persistentvolumeclaims"}, writable


def test_the_packaged_chart_has_the_version_of_the_package(tmp_path: Path) -> None:
    file = chart.write(CHART, tmp_path, __version__, 0)
    with tarfile.open(file) as archive:
        found = archive.extractfile("mooring/Chart.yaml")
        assert found is not None
        said = yaml.safe_load(found.read())
    assert (said["version"], said["appVersion"]) == (__version__, __version__)


def test_no_other_file_holds_the_version() -> None:
    pyproject = (CHART.parents[2] / "pyproject.toml").read_text()
    assert not re.search(r'^version = "', pyproject, re.MULTILINE)
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["version"] == "0.0.0"
