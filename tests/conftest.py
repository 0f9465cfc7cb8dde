"""What every test shares: one folder for compiled code, kept from run to run."""

from __future__ import annotations

import os
from pathlib import Path

# Before torch's compiler is imported: it reads the folder once.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(__file__).parent.parent / ".cache" / "inductor"))
