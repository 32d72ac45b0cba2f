"""What an image consists of, as CycloneDX: Debian's packages and the Python packages in it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from release.debian import SUITE, Package
from release.root import Root, Wheel

_LICENSES = LicenseFactory()


def document(root: Root, version: str, epoch: int) -> str:
    """The same for the same contents: its serial number is worked out from their versions."""
    bom = Bom()
    own = Component(
        name="mooring",
        version=version,
        type=ComponentType.APPLICATION,
        purl=PackageURL("pypi", name="mooring", version=version),
        bom_ref=f"mooring@{version}",
        licenses=[_LICENSES.make_from_string("Apache-2.0")],
    )
    bom.metadata.component = own
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    wheels = {
        wheel.name.lower().replace("_", "-"): wheel
        for wheel in root.wheels
        if wheel.name != "mooring"
    }
    components = {name: _of_wheel(wheel) for name, wheel in wheels.items()}
    system = [_of_package(package) for package in root.packages]
    for component in (*components.values(), *system):
        bom.components.add(component)
    (needed,) = (wheel.needs for wheel in root.wheels if wheel.name == "mooring")
    bom.register_dependency(own, [*_found(needed, components), *system])
    for name, wheel in wheels.items():
        bom.register_dependency(components[name], _found(wheel.needs, components))
    named = ",".join(sorted(str(component.bom_ref) for component in bom.components))
    bom.serial_number = uuid5(NAMESPACE_URL, f"mooring@{version},{named}")
    return str(JsonV1Dot6(bom).output_as_string(indent=2))


def _found(names: tuple[str, ...], components: dict[str, Component]) -> Iterator[Component]:
    """What is needed on other systems, or for extras, is not in the image."""
    return (components[name] for name in names if name in components)


def _of_wheel(wheel: Wheel) -> Component:
    return Component(
        name=wheel.name,
        version=wheel.version,
        type=ComponentType.LIBRARY,
        purl=PackageURL("pypi", name=wheel.name.lower().replace("_", "-"), version=wheel.version),
        bom_ref=f"{wheel.name}@{wheel.version}",
        licenses=[_LICENSES.make_from_string(wheel.license)] if wheel.license else (),
    )


def _of_package(package: Package) -> Component:
    qualifiers = {"arch": package.architecture, "distro": SUITE}
    return Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        purl=PackageURL("deb", "debian", package.name, package.version, qualifiers),
        bom_ref=f"deb:{package.name}@{package.version}",
    )
