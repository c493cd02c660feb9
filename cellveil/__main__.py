"""Run the command line as ``python -m cellveil``."""

from cellveil.cli import main

main()
