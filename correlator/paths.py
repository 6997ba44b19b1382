"""Paths as the agents of three operating systems spell them, brought to one form and compared by whole components.

No file system is asked: what a symbolic link hides stays two paths unless the runtime named both.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

import msgspec

EXACT = 1_000
"""Added to the matched components when both paths are absolute and equal: nothing is closer."""

_PLAIN = re.compile(r"/?[A-Za-z0-9_-][\w.-]*(?:/[A-Za-z0-9_-][\w.-]*)*", re.ASCII)
_DRIVE = re.compile(r"(?:/(?:mnt|cygdrive)/([A-Za-z])|/?([A-Za-z]):)(?=/|$)")
_SHARE = re.compile(r"//(?:\?(?=/[A-Za-z]:)/|wsl(?:\$|\.localhost)/[^/]+)", re.I)
"""What Windows puts before a long path, and before one inside WSL."""
_MOUNTS = frozenset({"mnt", "cygdrive"})
_POSITION = re.compile(r"(?<=[^/:]):\d+(?:[:-]\d+)?:?$|(?<=[^/:]{2}):$|#L\d+(?:-L?\d+)?$")


class PathKey(msgspec.Struct, frozen=True, gc=False):
    """A path brought to one form."""

    parts: tuple[str, ...]
    """Components without dots; a Windows drive is the first, in lower case with its colon."""
    absolute: bool
    text: str
    """The same in POSIX form."""
    name: str
    """Last component; empty for the root."""


@lru_cache(maxsize=65_536)
def path_key(raw: str, cwd: str = "") -> PathKey:
    """Return one form for a path: NFC, slashes, no dot segments, drive letters, `file://`, `~`, `:line:col` cut off.

    A relative path is joined with `cwd` where that is known. A path below `~` counts as relative: whose home it is
    nobody tells.
    """
    if _PLAIN.fullmatch(raw):
        absolute = raw[0] == "/"
        parts = raw[1:].split("/") if absolute else raw.split("/")
        if parts[0] not in _MOUNTS:
            return _joined(parts, cwd) if cwd and not absolute else PathKey(tuple(parts), absolute, raw, parts[-1])
    return _slow_key(raw, cwd)


def _slow_key(raw: str, cwd: str) -> PathKey:
    text = unicodedata.normalize("NFC", raw.strip())
    if text.startswith("file://"):
        text = unquote(text[7:].removeprefix("localhost"))
        text = text[1:] if re.match(r"/[A-Za-z]:", text) else text
    text = _POSITION.sub("", text).replace("\\", "/")
    if (share := _SHARE.match(text)) is not None:
        text = text[share.end() :]
    home = text == "~" or text.startswith("~/")
    if home:
        text = text[2:]
    if (drive := _DRIVE.match(text)) is not None:
        text = f"{(drive.group(1) or drive.group(2)).lower()}:{text[drive.end() :]}"
    absolute = text.startswith("/") or drive is not None
    parts = [part for part in text.split("/") if part and part != "."]
    if not absolute and not home and cwd:
        return _joined(parts, cwd)
    return _key(_resolved(parts), absolute=absolute)


def _joined(parts: list[str], cwd: str) -> PathKey:
    base = path_key(cwd)
    return _key(_resolved([*base.parts, *parts]), absolute=base.absolute)


def _key(parts: tuple[str, ...], *, absolute: bool) -> PathKey:
    rooted = absolute and not (parts and parts[0].endswith(":"))
    return PathKey(parts, absolute, ("/" if rooted else "") + "/".join(parts), parts[-1] if parts else "")


def without_suffix(path: PathKey) -> PathKey:
    """Return the path without the suffix of its name."""
    stem, dot, suffix = path.name.rpartition(".")
    return _key((*path.parts[:-1], stem), absolute=path.absolute) if dot and stem and suffix else path


def name_of(raw: str) -> str:
    """Return the last component of a path's one form; cheap for the plain paths that most are."""
    name = raw[raw.rfind("/") + 1 :]
    plain = raw.isascii() and raw[-1:].isalnum() and "\\" not in raw and ":" not in name and "#" not in name
    return name if plain else path_key(raw).name


def _resolved(parts: list[str]) -> tuple[str, ...]:
    if ".." not in parts and "." not in parts:
        return tuple(parts)
    kept: list[str] = []
    for part in parts:
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part != ".":
            kept.append(part)
    return tuple(kept)


def closeness(shown: PathKey, opened: PathKey, cwd: PathKey | None = None) -> int:
    """Return how many components make the opened path the shown one; 0 when it is another file.

    Equal paths are closest. A relative shown path matches as a suffix of the opened one; a relative opened path (its
    working directory unknown) as a suffix of two components or more. A bare shown file name below a known working
    directory matches only right there: every folder may have its `README.md`.
    """
    if not shown.parts or not opened.parts or shown.parts[-1] != opened.parts[-1]:
        return 0
    size = len(shown.parts)
    if shown == opened:
        return EXACT + size
    if not shown.absolute:
        if opened.parts[-size:] != shown.parts:
            return 0
        if (
            size == 1
            and cwd is not None
            and opened.parts[:-1] != cwd.parts
            and opened.parts[: len(cwd.parts)] == cwd.parts
        ):
            return 0
        return size
    length = len(opened.parts)
    if opened.absolute and length == size and shown.parts[1:] == opened.parts[1:]:
        return EXACT + size if _same_drive(shown.parts[0], opened.parts[0]) else 0
    if not opened.absolute and length > 1 and shown.parts[-length:] == opened.parts:
        return length
    return 0


def _same_drive(one: str, other: str) -> bool:
    """Git Bash writes `/c/x` for `C:\\x`."""
    return one != other and one.rstrip(":").lower() == other.rstrip(":").lower() and ":" in one + other


def looks_like_a_directory(raw: str) -> bool:
    """Whether a path names a directory by its spelling alone: a trailing slash, dots, or nothing."""
    return raw.endswith(("/", "\\")) or raw.rpartition("/")[2] in ("", ".", "..", "~")


def may_be_a_directory(raw: str) -> bool:
    """Whether a name may well be a folder's: it has no dot and is not written like `Makefile` or `LICENSE`."""
    name = raw.rpartition("/")[2]
    return "." not in name.lstrip(".") and not name[:1].isupper()


@lru_cache(maxsize=16_384)
def url_key(raw: str) -> str:
    """Return one form for a URL: scheme and host in lower case, http as https, no fragment, no trailing slash."""
    text = raw.strip().partition("#")[0]
    scheme, found, rest = text.partition("://")
    if not found:
        return text
    host, slash, tail = rest.partition("/")
    scheme = "https" if scheme.lower() in ("http", "https") else scheme.lower()
    return f"{scheme}://{host.lower().removesuffix(':80').removesuffix(':443')}{slash}{tail}".rstrip("/")
