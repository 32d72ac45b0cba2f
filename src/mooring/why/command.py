"""The command line of `mooring why` and `kubectl why`.

Parsed by argparse, and reached without loading the other commands: an answer is to come within half
a second, and half of that would go to them.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mooring.errors import MooringError

ABOUT = """Explain why a claim, volume, pod, node, class, driver, workload or namespace waits.

Nothing is changed; objects are read with your own rights, on any Kubernetes cluster. The exit code
is 0 when it is fine, 1 while it waits, 2 when it is broken or cannot be seen."""
EXAMPLE = "Example: mooring why pvc/data -n shop"
CANNOT = 2  # the exit code of what could not be answered, as that of what is broken


def main(arguments: Sequence[str] | None = None, name: str = "kubectl why") -> int:
    """The exit code; an error is one line."""
    given = _parser(name).parse_args(arguments)
    from mooring.why.ask import Question, ask

    question = Question(
        subject="/".join(given.subject),
        namespace=given.namespace,
        kubeconfig=given.kubeconfig,
        is_json=given.output == "json",
        names_all=given.all,
        watches=given.watch,
        all_stuck=given.all_stuck,
    )
    try:
        return ask(question, _say)
    except* MooringError as errors:
        for line in _lines(errors):
            sys.stderr.write(f"mooring: {line}\n")
    except* KeyboardInterrupt:
        pass
    return CANNOT


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _lines(errors: BaseExceptionGroup[MooringError]) -> list[str]:
    from mooring.why.told import clean

    found: list[str] = []
    for error in errors.exceptions:
        found += (
            _lines(error) if isinstance(error, BaseExceptionGroup) else [clean(error.on_terminal)]
        )
    return found


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name,
        description=ABOUT,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "subject",
        nargs="*",
        metavar="KIND/NAME",
        help="or KIND NAME: pvc/data, pod/web-0, pv/disk, node/n1, volumeattachment/csi-..., "
        "volumesnapshot/nightly, storageclass/fast, csidriver/..., deploy/web, sts/db, ns/shop",
    )
    parser.add_argument(
        "-n", "--namespace", default="", help="where it is (default: that of the kubeconfig)"
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="how to reach the API server (default: $KUBECONFIG, the pod's account, ~/.kube)",
    )
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="for people, for programs"
    )
    parser.add_argument(
        "--all", action="store_true", help="name every volume and node that does not fit"
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="say it again when it changes, until it is fine"
    )
    parser.add_argument(
        "--all-stuck", action="store_true", help="all that waits, in a namespace (-n) or anywhere"
    )
    return parser


def kubectl_why() -> None:
    """The script `kubectl-why`, which kubectl finds as a plugin."""
    sys.exit(main())
