"""`python -m kdacheck`."""

import os
import sys

if sys.path and not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]  # Python looks for modules in the current folder first, whoever wrote it

from kdacheck.cli import main

if __name__ == "__main__":
    sys.exit(main())
