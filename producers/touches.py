"""Which files and pages a call opened or changed, where its own arguments and result say so.

Shell commands are not looked into here: the correlator reads them with a real grammar.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any

from producers import memory_servers
from producers.observed import Observed
from producers.redact import redact_text
from streams.events import Touch

_PATH_KEYS = ("file_path", "filePath", "notebook_path", "path", "absolute_path")

_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.M)


def touched(tool: str, seen: Observed) -> tuple[Touch, ...]:
    """Return what a successful call opened or changed, paths made absolute by its working directory."""
    own = TOUCHING.get(tool)
    if own is not None:
        return own(seen)
    return tuple(Touch(op="fetch", path=item) for item in memory_servers.opened_ids(seen.name, seen.input))


def absolute(path: str, cwd: str) -> str:
    """Return a path joined to its working directory, with `/` between components; drives and URLs stay as they are."""
    path = path.strip("\r\n").removeprefix("file://")
    if re.match(r"[A-Za-z]:[\\/]", path) or (re.match(r"[A-Za-z]:[\\/]", cwd) and not path.startswith("/")):
        path, cwd = path.replace("\\", "/"), cwd.replace("\\", "/")
        joined = path if re.match(r"[A-Za-z]:/", path) else f"{cwd}/{path}"
        return joined[:2] + posixpath.normpath(joined[2:])
    if path.startswith("~") or not (path.startswith("/") or cwd):
        return path
    return posixpath.normpath(posixpath.join(cwd, path))


def patched(patch: str, cwd: str) -> tuple[Touch, ...]:
    """Return the files that an `apply_patch` text adds, changes, deletes or moves to."""
    found: list[Touch] = []
    for match in _PATCH_FILE.finditer(patch):
        op, path, moved = match.groups()
        if moved:
            found.append(Touch(op="write", path=absolute(moved, cwd)))
        elif op == "Update":
            found.append(Touch(op="edit", path=absolute(path, cwd)))
        else:
            found.append(Touch(op="write" if op == "Add" else "delete", path=absolute(path, cwd)))
    return tuple(found)


def _read(seen: Observed) -> tuple[Touch, ...]:
    told: dict[str, Any] = seen.structured if isinstance(seen.structured, dict) else {}
    inner = told.get("file")
    file: dict[str, Any] = inner if isinstance(inner, dict) else {}
    path = _path(seen.input) or _path(file)
    if not path:
        paths = seen.input.get("paths")
        many = [item for item in paths if isinstance(item, str)] if isinstance(paths, list) else []
        return tuple(Touch(op="read", path=absolute(item, seen.cwd)) for item in many)
    start, count = _int(file.get("startLine")), _int(file.get("numLines"))
    if start is None:
        start, count = _int(seen.input.get("offset")), _int(seen.input.get("limit"))
    end = start + count - 1 if start is not None and count else None
    return (
        Touch(
            op="read",
            path=absolute(path, seen.cwd),
            start_line=start,
            end_line=end,
            new_content=told.get("type") != "file_unchanged",
        ),
    )


def _edit(seen: Observed) -> tuple[Touch, ...]:
    path = _path(seen.input)
    return (Touch(op="edit", path=absolute(path, seen.cwd)),) if path else ()


def _write(seen: Observed) -> tuple[Touch, ...]:
    path = _path(seen.input)
    return (Touch(op="write", path=absolute(path, seen.cwd)),) if path else ()


def _list(seen: Observed) -> tuple[Touch, ...]:
    path = _path(seen.input)
    return (Touch(op="list", path=absolute(path, seen.cwd)),) if path else ()


def _fetch(seen: Observed) -> tuple[Touch, ...]:
    url = seen.input.get("url")
    return (Touch(op="fetch", path=redact_text(url)),) if isinstance(url, str) and url else ()


def _patch(seen: Observed) -> tuple[Touch, ...]:
    return patched(_patch_text(seen.input), seen.cwd)


def _cite(seen: Observed) -> tuple[Touch, ...]:
    return tuple(_cited(entry, seen.cwd) for entry in seen.input.get("entries", ()) if entry.get("path"))


def _cited(entry: dict[str, Any], cwd: str) -> Touch:
    start, end = _int(entry.get("line_start")), _int(entry.get("line_end"))
    return Touch(op="read", path=absolute(str(entry["path"]), cwd), start_line=start, end_line=end)


def _path(record: dict[str, Any]) -> str:
    for key in _PATH_KEYS:
        value = record.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _patch_text(record: dict[str, Any]) -> str:
    for key in ("input", "patch", "command", "patchText"):
        value = record.get(key)
        if isinstance(value, str):
            return value
    return ""


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


TOUCHING: Mapping[str, Callable[[Observed], tuple[Touch, ...]]] = {
    "Read": _read,
    "Edit": _edit,
    "MultiEdit": _edit,
    "NotebookEdit": _edit,
    "Write": _write,
    "LS": _list,
    "WebFetch": _fetch,
    "ApplyPatch": _patch,
    "memory_citation": _cite,
}
"""Canonical tool -> what its input says that it touched."""
