"""VolumeAttributesClasses as controllers read them."""

from mooring.model.attributes_class import AttributesClass
from tests.unit.model.reading import read


def test_an_attributes_class() -> None:
    gold = read(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttributesClass",
            "metadata": {"name": "gold", "finalizers": ["kubernetes.io/vac-protection"]},
            "driverName": "ebs.csi.example.com",
            "parameters": {"iops": "4000"},
        },
        AttributesClass,
    )
    assert gold.driver_name == "ebs.csi.example.com"
    assert gold.parameters == {"iops": "4000"}
    assert gold.metadata.finalizers == ("kubernetes.io/vac-protection",)
