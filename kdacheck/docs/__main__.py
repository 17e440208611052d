from __future__ import annotations

import sys

from kdacheck.docs import main

if __name__ == "__main__":
    sys.exit(main())
