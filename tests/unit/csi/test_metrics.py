"""The histogram of calls, as dashboards for Kubernetes look for it."""

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from mooring.csi.channel import Connection
from mooring.csi.identity import Identity
from mooring.csi.metrics import OF_SIDECAR, calls_histogram, observing
from mooring.csi.outcome import Code
from tests.fakes.csi_driver import Fails, FakeCsiDriver


async def test_calls_are_counted_by_driver_method_and_code(driver: FakeCsiDriver) -> None:
    histogram = calls_histogram(OF_SIDECAR)
    driver.next("Probe", Fails(Code.CANCELLED))
    async with Connection(
        str(driver.socket), observer=observing(histogram, "fake.csi")
    ) as connection:
        await Identity(connection).probe(within=5)
        await Identity(connection).probe(within=5)
    registry = CollectorRegistry()
    registry.register(histogram)
    text = generate_latest(registry).decode()
    for code in ("OK", "Canceled"):
        assert (
            'csi_sidecar_operations_seconds_count{driver_name="fake.csi",'
            f'grpc_status_code="{code}",method_name="/csi.v1.Identity/Probe",migrated="false"}} 1.0'
        ) in text
    assert 'le="600.0"' in text
