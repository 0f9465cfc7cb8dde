"""Functions, arguments and results as files: what a notebook's ``__main__`` defines travels by value, tensors as torch saves them."""

from __future__ import annotations

import linecache
import os
import pickle
from pathlib import Path
from typing import Any

import torch

from hyperviz.distributed import pickling


def save(path: Path, value: Any) -> None:
    """Writes ``value`` whole or not at all; raises whatever its pickling raises."""
    draft = path.with_name("." + path.name)
    with draft.open("wb") as file:
        torch.save((_sources_without_files(), value), file, pickle_module=pickling)
    os.replace(draft, path)


def save_if_possible(path: Path, value: Any) -> None:
    """Writes ``value``, or nothing where it cannot be pickled."""
    try:
        save(path, value)
    except Exception:
        path.unlink(missing_ok=True)


def load(path: Path, device: str | None = None) -> Any:
    """Reads what `save` wrote; with ``device``, all tensors come to it."""
    sources, value = torch.load(path, map_location=device, pickle_module=pickle, weights_only=False)
    linecache.cache.update(sources)
    return value


def _sources_without_files() -> dict[str, tuple[int, None, list[str], str]]:
    """The cells of a notebook, as `linecache` holds them: with them a rank's traceback shows lines that are in no file."""
    entries = list(linecache.cache.items())  # at once: other threads fill it meanwhile
    held = [(name, entry) for name, entry in entries if len(entry) == 4 and not os.path.exists(name)]
    # A time of None tells linecache to keep the lines although no file is there.
    return {name: (size, None, list(lines), full) for name, (size, _, lines, full) in held}
