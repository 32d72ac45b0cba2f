"""Messages that print without their secrets."""

from mooring.csi.proto import csi_pb2
from mooring.csi.secrets import NO_SECRETS, TOKENS_KEY
from mooring.csi.stripped import Stripped

PASSWORD = 'p@ss "word"/17\\ü'


def test_a_request_prints_without_its_secrets() -> None:
    request = csi_pb2.NodePublishVolumeRequest(
        volume_id="vol-1",
        secrets={"password": PASSWORD},
        volume_context={TOKENS_KEY: "eyJ", "share": "/data"},
    )
    request.volume_capability.mount.mount_flags.append("password=hunter2")
    printed = str(Stripped(request, NO_SECRETS))
    assert "hunter2" not in printed
    assert PASSWORD not in printed
    assert "eyJ" not in printed
    assert 'value: "/data"' in printed
    assert request.secrets["password"] == PASSWORD  # the request itself is left alone
