"""`python -m pipe`: the command line."""

from __future__ import annotations

import sys

from pipe.cli import main

sys.exit(main())
