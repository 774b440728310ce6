"""`python -m sqlrl`: the command line where the folder of its script is not on the path."""

from sqlrl.cli import main

main()
