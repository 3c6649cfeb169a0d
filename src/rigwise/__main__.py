"""`python -m rigwise` is the `rigwise` command."""

from rigwise.cli.main import main

if __name__ == "__main__":
    main()
