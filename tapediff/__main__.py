"""`python -m tapediff doctor` checks this installation. `python -m tapediff versions` prints what is installed."""

import argparse
import sys

from .doctor import doctor, show_versions


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tapediff", description="Checks of an installation.")
    parser.add_argument(
        "command", choices=["doctor", "versions"], help="doctor: check that everything works; versions: list them"
    )
    if parser.parse_args().command == "doctor":
        return doctor()
    show_versions()
    return 0


if __name__ == "__main__":
    sys.exit(main())
