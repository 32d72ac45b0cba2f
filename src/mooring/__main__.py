"""`python -m mooring` is `mooring`."""

import sys


def main() -> None:
    """`why` is answered without loading the other commands."""
    if sys.argv[1:2] in (["why"], ["explain"]):
        from mooring.why.command import main as why

        sys.exit(why(sys.argv[2:], f"mooring {sys.argv[1]}"))
    from mooring.cli import main as others

    others()


if __name__ == "__main__":
    main()
