"""`python -m lochan` is the `lochan` command."""

from lochan.cli.main import main

main()
