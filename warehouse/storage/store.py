"""Files of the warehouse on a local disk: whole or not at all, also after a kill or a power cut."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Protocol

from streams.errors import StorageUnavailable

TEMPORARY = ".tmp"
"""Suffix of a file being written. A suffix, because DuckDB's glob also finds names with a leading dot or underscore."""


class Storage(Protocol):
    """A tree of immutable files, named by paths relative to its root."""

    def put(self, path: str, data: bytes | memoryview) -> None:
        """Write a file whole; once it returns the file survives a crash. An existing file is replaced.

        Raises:
            StorageUnavailable: when the store refused the write.
        """
        ...

    def put_file(self, path: str, source: Path) -> None:
        """Move a finished local file into the tree, whole, as `put` does.

        Raises:
            StorageUnavailable: when the store refused the write.
        """
        ...

    def get(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            FileNotFoundError: when there is none.
        """
        ...

    def find(self, folder: str, suffix: str = ".parquet") -> list[str]:
        """Return the paths of all files below a folder that end so, sorted."""
        ...

    def size(self, path: str) -> int:
        """Return a file's size in bytes."""
        ...

    def delete(self, path: str) -> None:
        """Remove a file; nothing happens when there is none."""
        ...

    def uri(self, path: str) -> str:
        """Return how a reader outside this process names the file: an absolute path or a URL."""
        ...


class LocalStorage:
    """Files below one folder of a local disk."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).absolute()
        self.root.mkdir(parents=True, exist_ok=True)

    def put(self, path: str, data: bytes | memoryview) -> None:
        """Write a file whole: temporary name, fsync, rename, fsync of the folder."""
        target = self.root / path
        temporary = target.with_name(f"{target.name}.{os.getpid()}{TEMPORARY}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            sync_folder(target.parent)
        except OSError as error:
            raise StorageUnavailable(f"expected to write {target}, got {error}") from error

    def put_file(self, path: str, source: Path) -> None:
        """Move a finished file into the tree: fsync, rename, fsync of the folder. It must lie on the same disk."""
        target = self.root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(source, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            source.replace(target)
            sync_folder(target.parent)
        except OSError as error:
            raise StorageUnavailable(f"expected to write {target}, got {error}") from error

    def get(self, path: str) -> bytes:
        """Return a file's bytes."""
        return (self.root / path).read_bytes()

    def find(self, folder: str, suffix: str = ".parquet") -> list[str]:
        """Return the paths of all files below a folder that end so, sorted."""
        found: list[str] = []
        for base, _, names in os.walk(self.root / folder):
            found += [os.path.relpath(os.path.join(base, name), self.root) for name in names if name.endswith(suffix)]
        return sorted(path.replace(os.sep, "/") for path in found)

    def size(self, path: str) -> int:
        """Return a file's size in bytes."""
        return (self.root / path).stat().st_size

    def delete(self, path: str) -> None:
        """Remove a file; nothing happens when there is none."""
        with contextlib.suppress(FileNotFoundError):
            (self.root / path).unlink()

    def uri(self, path: str) -> str:
        """Return the file's absolute path."""
        return (self.root / path).as_posix()

    def sweep(self) -> list[str]:
        """Remove what killed writers left half written, and return the paths.

        Only files whose writer no longer lives go: another sink may be writing in the same tree right now.
        """
        swept: list[str] = []
        for path in self.find("", TEMPORARY):
            owner = path.removesuffix(TEMPORARY).rpartition(".")[2]
            if not (owner.isdigit() and _lives(int(owner))):
                self.delete(path)
                swept.append(path)
        return swept


def _lives(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
