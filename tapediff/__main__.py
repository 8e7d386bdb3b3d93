"""`python -m tapediff` prints what is installed and checks that it works; `python -m tapediff versions` prints it alone."""

import argparse
import sys

from .doctor import doctor, show_versions


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tapediff", description="Checks of an installation.")
    parser.add_argument(
        "command", nargs="?", default="doctor", choices=["doctor", "versions"],
        help="doctor, the default: list the versions, check that everything works; versions: list them alone",
    )
    if parser.parse_args().command == "doctor":
        return doctor()
    show_versions()
    return 0


if __name__ == "__main__":
    sys.exit(main())
