"""The `rigwise` command, also as `python -m rigwise`."""

import sys


def main() -> None:
    """Run the command; Ctrl-C while it is still being imported ends it quietly too."""
    try:
        from rigwise.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
