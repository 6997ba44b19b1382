"""Files of the warehouse on a local disk: whole or not at all, also after a kill or a power cut."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import duckdb

from streams.errors import StorageUnavailable

TEMPORARY = ".tmp"
"""Suffix of a file being written. A suffix, because DuckDB's glob also finds names with a leading dot or underscore."""

PARALLEL = 8
"""Files written at once: an fsync waits for the disk, and several that wait together cost little more than one."""


class Storage(Protocol):
    """A tree of immutable files, named by paths relative to its root."""

    def put(self, path: str, data: bytes | memoryview) -> None:
        """Write a file whole; once it returns the file survives a crash. An existing file is replaced.

        Raises:
            StorageUnavailable: when the store refused the write.
        """
        ...

    def put_all(self, files: Mapping[str, bytes]) -> None:
        """Write many files whole, as `put` does, in any order; once it returns they all survive a crash.

        Raises:
            StorageUnavailable: when the store refused one; others may have been written.
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

    def open_to(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let a DuckDB connection read the files by their `uri`."""
        ...

    def sweep(self) -> list[str]:
        """Remove what killed writers left half written, and return the paths."""
        ...


class LocalStorage:
    """Files below one folder of a local disk."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).absolute()
        self.root.mkdir(parents=True, exist_ok=True)

    def put(self, path: str, data: bytes | memoryview) -> None:
        """Write a file whole: temporary name, fsync, rename, fsync of the folder."""
        target = self.root / path
        try:
            folders = self._make(target.parent)
            self._write(target, data).replace(target)
            for folder in folders:
                sync(folder)
        except OSError as error:
            raise StorageUnavailable(f"expected to write {target}, got {error}") from error

    def put_all(self, files: Mapping[str, bytes]) -> None:
        """Write many files as `put` does, several at once, and fsync each folder once after all its renames."""
        targets = {self.root / path: data for path, data in files.items()}
        try:
            folders = {folder for target in targets for folder in self._make(target.parent)}
            with ThreadPoolExecutor(PARALLEL) as pool:
                temporaries = list(pool.map(self._write, targets, targets.values()))
                for temporary, target in zip(temporaries, targets, strict=True):
                    temporary.replace(target)
                list(pool.map(sync, folders))
        except OSError as error:
            raise StorageUnavailable(f"expected to write {len(targets)} files, got {error}") from error

    def put_file(self, path: str, source: Path) -> None:
        """Move a finished file into the tree: fsync, rename, fsync of the folder. It must lie on the same disk."""
        target = self.root / path
        try:
            folders = self._make(target.parent)
            sync(source)
            source.replace(target)
            for folder in folders:
                sync(folder)
        except OSError as error:
            raise StorageUnavailable(f"expected to write {target}, got {error}") from error

    def _make(self, folder: Path) -> list[Path]:
        """Make a folder and return what an fsync must reach for it to survive: itself, and where it was made."""
        made = [folder]
        while not made[-1].exists():
            made.append(made[-1].parent)
        folder.mkdir(parents=True, exist_ok=True)
        return made

    @staticmethod
    def _write(target: Path, data: bytes | memoryview) -> Path:
        """Write a temporary file beside the target, fsync it, and return it."""
        temporary = target.with_name(f"{target.name}.{os.getpid()}{TEMPORARY}")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return temporary

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

    def open_to(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Do nothing: DuckDB reads local files by itself."""

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


def sync(path: Path) -> None:
    """Make a file, or the renames inside a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
