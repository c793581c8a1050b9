"""`python -m quorate.cli`: the command of the interpreter that runs it, wherever scripts are."""

import sys

from quorate.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
