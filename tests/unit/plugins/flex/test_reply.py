"""What a driver's output means."""

import pytest

from mooring.plugins.flex.capabilities import Capabilities
from mooring.plugins.flex.reply import Answer, Call, Refusal, Unsupported, judge

OK = '{"status": "Success"}'


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (OK, Answer()),
        (f"\n {OK} \n", Answer()),
        ('{"STATUS": "Success", "Device": "/dev/x"}', Answer(device="/dev/x")),
        ('{"status": "Success", "attached": true}', Answer(attached=True)),
        ('{"status": "Success", "volumeNewSize": 5, "unknown": []}', Answer()),
        ('{"status": "Success", "device": null, "capabilities": null}', Answer()),
        (
            '{"status": "Success", "capabilities": {"attach": false, "SELinuxRelabel": false, '
            '"supportsMetrics": true, "fsGroup": false, "requiresFSResize": false, "x": 1}}',
            Answer(
                capabilities=Capabilities(
                    attach=False,
                    selinux_relabel=False,
                    supports_metrics=True,
                    fs_group=False,
                    requires_fs_resize=False,
                )
            ),
        ),
        ('{"status": "Not supported"}', Unsupported()),
        (
            '{"status": "Failure", "message": "no disk"}',
            Refusal("mount command failed, status: Failure, reason: no disk"),
        ),
        ('{"message": "hm"}', Refusal("mount command failed, status: , reason: hm")),
        ("{}", Refusal("mount command failed, status: , reason: ")),
    ],
)
def test_one_json_object(output: str, answer: object) -> None:
    assert judge(Call.MOUNT, output) == answer


@pytest.mark.parametrize(
    ("output", "because"),
    [
        ("", "unexpected end of JSON input"),
        ("mount: permission denied", "no JSON"),
        ('{"status": "Succ', "no JSON"),
        (OK + OK, "something follows the JSON object"),
        (OK + "\n" + OK, "something follows the JSON object"),
        (f"warning: old disk\n{OK}", "no JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"status": 5}', "status: not a string"),
        ('{"status": "Success", "device": {}}', "device: not a string"),
        ('{"status": "Success", "device": "a\\u0000b"}', "device: has a NUL"),
        ('{"status": "Success", "attached": "yes"}', "attached: not a boolean"),
        ('{"status": "Success", "capabilities": []}', "capabilities: not an object"),
        ('{"status": "Success", "capabilities": {"attach": 1}}', "capabilities.attach"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_anything_else_is_a_failure(output: str, because: str) -> None:
    judged = judge(Call.MOUNT, output)
    assert isinstance(judged, Refusal)
    assert because in judged.text
    assert len(judged.text) < 600


def test_after_a_bad_exit_the_json_still_counts() -> None:
    failed = '{"status": "Failure", "message": "no disk"}'
    assert judge(Call.MOUNT, failed, "exit status 1") == judge(Call.MOUNT, failed)
    assert judge(Call.MOUNT, '{"status": "Not supported"}', "exit status 1") == Unsupported()


def test_success_with_a_bad_exit_is_a_failure() -> None:
    judged = judge(Call.MOUNT, OK, "exit status 3")
    assert judged == Refusal(
        "mount command failed: exit status 3, although the driver says Success"
    )
