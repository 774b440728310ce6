"""`python -m sqlrl.cli`."""

from sqlrl.cli.app import main

main()
