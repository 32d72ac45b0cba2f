"""`python -m bench [name...]`: run benchmarks and print what they measured."""

import compileall
import importlib
import sys
from pathlib import Path

import mooring

NAMES = (
    *("start", "api", "store", "binding", "scale", "ownership", "node", "pods", "attachment"),
    *("lost_node", "csi", "sidecars", "one_process", "freeze", "flex", "upkeep", "translation"),
    *("cel", "custom_schema", "custom", "why", "trace", "scheduler_scale", "controllers_scale"),
    *("testing",),
)


def main(names: list[str]) -> None:
    # As pip leaves it: where PYTHONDONTWRITEBYTECODE is set, each start would compile it anew.
    compileall.compile_dir(Path(mooring.__file__).parent, quiet=1)
    for name in names or NAMES:
        rows = importlib.import_module(f"bench.{name}").run()
        width = max(len(measure) for measure, _, _ in rows)
        print(f"\n{name}")
        for measure, value, note in rows:
            print(f"  {measure:<{width}}  {value:>12}  {note}")


if __name__ == "__main__":
    main(sys.argv[1:])
