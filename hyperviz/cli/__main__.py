"""``python -m hyperviz.cli``: the same as the script ``hyperviz``."""

import sys

from hyperviz.cli.main import main

sys.exit(main())
