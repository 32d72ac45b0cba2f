"""`python -m bench.table name`: run one benchmark and print what it measured."""

import importlib
import sys


def main(name: str) -> None:
    rows = importlib.import_module(f"bench.{name}").run()
    width = max((len(measure) for measure, _, _ in rows), default=0)
    print(f"\n{name}")
    for measure, value, note in rows:
        print(f"  {measure:<{width}}  {value:>12}  {note}")


if __name__ == "__main__":
    main(*sys.argv[1:])
