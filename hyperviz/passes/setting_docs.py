"""What torch's source says about each Inductor setting: the comment above it, or else beside it."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import tokenize
from collections.abc import Iterator, Mapping

_FOR_TOOLS = ("pyrefly:", "pyre-", "type:", "noqa", "@compile_ignored")


@functools.cache
def setting_docs() -> Mapping[str, str]:
    """Dotted key → its comment, for every setting of ``torch._inductor.config`` that has one."""
    from torch._inductor import config

    return read_docs(inspect.getsource(config))


def read_docs(source: str) -> dict[str, str]:
    """The comments of a config module's assignments.

    Args:
        source: text of a module whose settings are assignments, at its top or in its classes.

    Returns:
        dotted name → the comment lines directly above the assignment, or else the one behind it. A class that inherits another's
        settings inherits their comments.
    """
    above, beside = _comments(source)
    docs: dict[str, str] = {}
    for prefix, statement in _statements(ast.parse(source).body, ""):
        if isinstance(statement, ast.ClassDef):
            _inherit(docs, statement, prefix)
        elif doc := _block_ending_before(above, statement.lineno) or beside.get(statement.lineno, ""):
            docs.update((prefix + name, doc) for name in _targets(statement))
    return docs


def _comments(source: str) -> tuple[dict[int, str], dict[int, str]]:
    """Line number → text of the comments that have a line of their own, and of those behind code."""
    above: dict[int, str] = {}
    beside: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            own_line = not token.line[: token.start[1]].strip()
            text = token.string.lstrip("#").removeprefix(" ").rstrip()
            if own_line or not text.startswith(_FOR_TOOLS):
                (above if own_line else beside)[token.start[0]] = text
    return above, beside


def _statements(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    """Assignments and classes with the dotted prefix of where they stand, in source order."""
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            yield prefix, statement
        elif isinstance(statement, ast.ClassDef):
            yield from _statements(statement.body, f"{prefix}{statement.name}.")
            yield prefix, statement


def _targets(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _block_ending_before(comments: Mapping[int, str], line: int) -> str:
    """The unbroken comment lines directly above a line, without what only tools read."""
    lines: list[str] = []
    while (line := line - 1) in comments:
        lines.insert(0, comments[line])
    return "\n".join(text for text in lines if not text.startswith(_FOR_TOOLS)).strip()


def _inherit(docs: dict[str, str], child: ast.ClassDef, prefix: str) -> None:
    """Gives a class the comments of the classes that it derives from, below its own."""
    for parent in (base.id for base in child.bases if isinstance(base, ast.Name)):
        for name in [name for name in docs if name.startswith(f"{prefix}{parent}.")]:
            docs.setdefault(f"{prefix}{child.name}{name.removeprefix(prefix + parent)}", docs[name])
