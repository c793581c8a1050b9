"""The process of a node of `quorate dev`: `quorate serve`, which ends when `quorate dev` does."""

import sys

from quorate.cli.main import main
from quorate.cli.parent import end_with_parent

if __name__ == "__main__":
    end_with_parent("quorate dev")
    sys.exit(main())
