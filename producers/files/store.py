"""Session files on disk: which ones there are, what each is, and their bytes."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from producers.adapters import adapter_for
from producers.lines import ByteSource, as_utf8
from producers.translation import Adapter, SourceFile

HEAD_BYTES = 64 * 1024
"""What is read of a file to know its kind, its session and when it begins."""

MAPPED_BYTES = 8 * 1024 * 1024
"""Larger files are mapped instead of read."""

SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".traj"})
"""Files of a folder that are looked at; a file named outright is looked at whatever its name."""

COMPANIONS = (".meta.json",)
"""Ends of names of files that stand beside sessions and are none."""

MAX_UNKNOWN = 10
"""Files of a folder that no adapter recognises and that a report names; the rest is counted."""

_TIMESTAMP = re.compile(rb'"(?:timestamp|occurred_at)"\s*:\s*"([0-9T:.+Z-]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file that an adapter recognises."""

    path: Path
    uri: str
    adapter: Adapter
    lineage: str
    begins: bytes
    """Time of its first record as it stands there; `~` where none was found."""
    modified_at: datetime
    fingerprint: str
    """Changes whenever the file does."""


def found_in(paths: Sequence[Path], unread: dict[str, str]) -> Iterator[Found]:
    """Yield every file of these paths that an adapter recognises; say in `unread` why another is not read."""
    seen: set[Path] = set()
    for named in paths:
        unknown: list[str] = []
        for path in _files(named, unread):
            if path not in seen:
                seen.add(path)
                found = _looked_at(path, unread, unknown)
                if found is not None:
                    yield found
        unread |= dict.fromkeys(unknown[:MAX_UNKNOWN], "no adapter recognises it")
        if len(unknown) > MAX_UNKNOWN:
            unread[f"{named}, {len(unknown) - MAX_UNKNOWN} more files"] = "no adapter recognises them"


def _looked_at(path: Path, unread: dict[str, str], unknown: list[str]) -> Found | None:
    try:
        stat = path.stat()
        with path.open("rb") as file:
            head = bytes(as_utf8(file.read(HEAD_BYTES))[:])
    except OSError as error:
        unread[str(path)] = f"cannot be read: {error.strerror or error}"
        return None
    if not head.strip(b"\x00 \t\r\n"):
        unread[str(path)] = "empty file"
        return None
    adapter = adapter_for(path.name, head)
    if adapter is None:
        unknown.append(str(path))
        return None
    first = _TIMESTAMP.search(head)
    return Found(
        path=path,
        uri=str(path),
        adapter=adapter,
        lineage=adapter.lineage(str(path), head),
        begins=first.group(1) if first else b"~",
        modified_at=datetime.fromtimestamp(stat.st_mtime, UTC),
        fingerprint=f"{stat.st_size}:{stat.st_mtime_ns}",
    )


def _files(named: Path, unread: dict[str, str]) -> list[Path]:
    if named.is_file():
        return [named]
    if not named.is_dir():
        unread[str(named)] = "expected a file or a folder, found nothing there"
        return []
    inside = sorted(path for path in named.rglob("*") if _may_hold_a_session(path))
    if not inside:
        unread[str(named)] = f"expected session files ({', '.join(sorted(SUFFIXES))}) in this folder, found none"
    return inside


def _may_hold_a_session(path: Path) -> bool:
    return path.suffix in SUFFIXES and not path.name.endswith(COMPANIONS) and path.is_file()


def lineages(found: Iterable[Found]) -> list[list[Found]]:
    """Return files by lineage, the one that begins first in front: the first owner of a copied call is its true one."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for item in found:
        groups.setdefault((item.adapter.name, item.lineage), []).append(item)
    return sorted(groups.values(), key=lambda group: min((item.begins, item.uri) for item in group))


def read(item: Found, unread: dict[str, str]) -> SourceFile | None:
    """Return a file's bytes, or null and the reason in `unread`."""
    try:
        return SourceFile(item.uri, _bytes(item.path), item.modified_at)
    except OSError as error:
        unread[item.uri] = f"cannot be read: {error.strerror or error}"
        return None


def _bytes(path: Path) -> ByteSource:
    with path.open("rb") as file:
        if path.stat().st_size <= MAPPED_BYTES:
            return file.read()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
