"""Reads a folder of documents: every file is reported as read or skipped with the reason."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pathspec

from memory.model import FileReport
from memory.sources.kinds import ARCHIVE_FOLDERS, folder_kind
from memory.sources.manifests import MANIFESTS

SUFFIXES = frozenset({".md", ".markdown", ".mdx"})
MAX_BYTES = 2 * 1024 * 1024
"""A larger file is no document that a person wrote."""

IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "mailbox", "exported-threads", "site-packages"})
GIT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Found:
    """A file that may be a document."""

    path: str
    """Relative to the root, POSIX."""
    mtime_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    """A file as read."""

    text: str
    digest: str
    problem: str | None = None


def walk(root: Path) -> tuple[list[Found], list[FileReport]]:
    """Return the documents below a folder, sorted by path, and what was skipped and why."""
    found: list[Found] = []
    skipped: list[FileReport] = []
    _walk(root, "", [], found, skipped)
    return sorted(found, key=lambda f: f.path), sorted(skipped, key=lambda f: f.path)


def _walk(
    folder: Path,
    prefix: str,
    rules: list[tuple[str, pathspec.GitIgnoreSpec]],
    found: list[Found],
    skipped: list[FileReport],
) -> None:
    rules = [*rules, *((prefix, spec) for spec in _ignore_rules(folder))]
    for entry in sorted(_entries(folder, prefix, skipped), key=lambda e: e.name):
        path = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        reason = _reason(entry, path, is_folder, rules)
        if reason is not None:
            skipped.append(FileReport(path=path + "/" if is_folder else path, outcome="skipped", reason=reason))
        elif is_folder:
            _walk(Path(entry.path), path + "/", rules, found, skipped)
        else:
            stat = entry.stat(follow_symlinks=False)
            found.append(Found(path, stat.st_mtime_ns, stat.st_size))


def _entries(folder: Path, prefix: str, skipped: list[FileReport]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        skipped.append(FileReport(path=prefix, outcome="skipped", reason=f"cannot be read: {error.strerror}"))
        return []


def _reason(
    entry: os.DirEntry[str], path: str, is_folder: bool, rules: list[tuple[str, pathspec.GitIgnoreSpec]]
) -> str | None:
    """Return why an entry is no document, or null."""
    if entry.is_symlink():
        return "symbolic link"
    if entry.name.startswith("."):
        return "hidden"
    if any(spec.match_file(path.removeprefix(prefix) + ("/" if is_folder else "")) for prefix, spec in rules):
        return "ignored by .gitignore"
    if is_folder:
        return "ignored folder" if entry.name in IGNORED_FOLDERS else None
    if Path(entry.name).suffix.lower() not in SUFFIXES and not (entry.name in MANIFESTS and "/" not in path):
        return "not Markdown"
    if ARCHIVE_FOLDERS.intersection(part.lower() for part in path.split("/")[:-1]) and folder_kind(path) is None:
        return "archive"
    if (size := entry.stat(follow_symlinks=False).st_size) > MAX_BYTES:
        return f"larger than {MAX_BYTES // 1024} KiB ({size // 1024} KiB)"
    return None


def _ignore_rules(folder: Path) -> Iterator[pathspec.GitIgnoreSpec]:
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    yield pathspec.GitIgnoreSpec.from_lines(lines)


def read(root: Path, path: str) -> Content:
    """Read one file as text; bytes that are no UTF-8 are replaced and said.

    Raises:
        OSError: when the file cannot be read.
    """
    raw = (root / path).read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Content(raw.decode("utf-16", "replace"), digest)
    try:
        return Content(raw.decode("utf-8"), digest)
    except UnicodeDecodeError as error:
        return Content(raw.decode("utf-8", "replace"), digest, f"is no UTF-8 from byte {error.start} on")


def git_dates(root: Path) -> dict[str, datetime]:
    """Return when each committed, unmodified file below the root last changed; empty without git or a repository."""
    log = _git(root, "log", "--format=%x00%ct", "--name-only", "--relative", "--no-renames", "--", ".")
    if not log:
        return {}
    dates: dict[str, datetime] = {}
    for commit in log.split("\0"):
        stamp, _, names = commit.partition("\n")
        if stamp.strip().isdigit():
            when = datetime.fromtimestamp(int(stamp), UTC)
            for name in filter(None, names.split("\n")):
                dates.setdefault(name, when)
    for name in filter(None, _git(root, "diff", "--name-only", "--relative", "HEAD").split("\n")):
        dates.pop(name, None)
    return dates


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-c", "core.quotePath=false", "-C", str(root), *arguments],
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
