"""Entry points: parse options, call the library, print, return an exit code."""
