"""`python -m kdacheck`."""

import sys

from kdacheck.cli import main

if __name__ == "__main__":
    sys.exit(main())
