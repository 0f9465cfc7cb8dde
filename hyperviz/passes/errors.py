"""The error that a region which does not compile ends in."""

from __future__ import annotations

from collections.abc import Sequence

from torch import fx

_INSTALL = (
    "Install one (Debian and Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install; "
    "Windows: the Build Tools for Visual Studio), or name one in the environment variable CXX."
)


class RegionCompileError(RuntimeError):
    """Inductor could not compile a region; the graph is as it was.

    Attributes:
        region: the region's name.
        nodes: names of its members.
        cause: what Inductor raised; also ``__cause__``.
    """

    def __init__(self, region: str, members: Sequence[fx.Node], cause: BaseException) -> None:
        self.region = region
        self.nodes = tuple(node.name for node in members)
        self.cause = cause
        super().__init__(f"{region} did not compile: {describe_cause(cause)}\nIt holds {_listing(members)}")


def describe_cause(cause: BaseException) -> str:
    """The cause in one sentence, and for a missing compiler what to install."""
    inner = cause
    while type(inner).__name__ in ("InductorError", "BackendCompilerFailed") and getattr(inner, "inner_exception", None) is not None:
        inner = inner.inner_exception  # pyright: ignore[reportAttributeAccessIssue]
    text = " ".join(str(inner).split()) or type(inner).__name__
    text = text if len(text) < 400 else text[:400] + " …"
    if type(inner).__name__ == "InvalidCxxCompiler":
        return f"no working C++ compiler was found. {_INSTALL} Torch said: {text}"
    return f"{type(inner).__name__}: {text}"


def _listing(members: Sequence[fx.Node], limit: int = 12) -> str:
    lines = [f"  {node.name} = {node.target}" + (f"  in {path}" if (path := node.meta.get("module_path")) else "") for node in members]
    more = [f"  … and {len(lines) - limit} more"] if len(lines) > limit else []
    return f"{len(lines)} node{'' if len(lines) == 1 else 's'}:\n" + "\n".join(lines[:limit] + more)
