"""What a call opens, and whether that is what a search had shown: one visible table, method by method.

A call opens `Handle`s (a path, an anchor, an id, a URL); a candidate has a `TargetRef`. `TABLE` says by which rule a
handle of a method can be a target of a kind; `match` applies it. Comparisons are exact: whole path components, whole
ids, whole tokens of a file name. Only the caller knows whether the call succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from correlator.paths import PathKey, closeness, name_of, path_key, url_key, without_suffix
from streams.recall import DocRef, InvocationRef, PassageRef, SessionRef, TargetRef, ThreadRef, UrlRef

HandleKind = Literal["path", "resolved", "query", "thread", "message", "passage", "session", "invocation", "url", "id"]

NO_LINES = (None, None)
"""A call that opened the whole of its target."""


class Handle(msgspec.Struct, frozen=True, gc=False):
    """One thing that a call opened."""

    kind: HandleKind
    value: str
    """The id, anchor or URL; for a path its raw spelling."""
    path: PathKey | None = None
    lines: tuple[int | None, int | None] = NO_LINES
    parent: str = ""
    """The thread of a message, the session of an invocation, the server of an id."""
    edit: bool = False
    """The call changed its target."""
    new_content: bool = True
    cwd: PathKey | None = None
    maybe_directory: bool = False
    """A search was given a name that may well be a folder's: it opens a file of that name and nothing else."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """A handle is a candidate's target."""

    rule: str
    """How, in words: the row of the table that decided."""
    closeness: int
    """Higher is closer: of two candidates that one handle fits, only the closest is opened."""


Compare = Callable[[Handle, Any], Verdict | None]


def _path_to_doc(handle: Handle, ref: DocRef) -> Verdict | None:
    if handle.path is None:
        return None
    if ref.path:
        near = closeness(path_key(ref.path), handle.path, handle.cwd)
        return Verdict("path", near) if near else None
    if ref.anchor.startswith("doc:"):
        near = closeness(path_key(ref.anchor[4:]), without_suffix(handle.path), handle.cwd)
        return Verdict("path of the anchor", near) if near else None
    if ref.anchor and is_token_of(ref.anchor, handle.path.name.partition(".")[0]):
        return Verdict("anchor in the file name", 0)
    return None


def is_token_of(anchor: str, stem: str) -> bool:
    """Whether the anchor stands in a file's stem as whole tokens: `W3` is not in `W31-kiln`."""
    at = stem.find(anchor)
    while at >= 0:
        before, after = stem[at - 1 : at], stem[at + len(anchor) : at + len(anchor) + 1]
        if not before.isalnum() and not after.isalnum():
            return True
        at = stem.find(anchor, at + 1)
    return False


def _path_to_passage(handle: Handle, ref: PassageRef) -> Verdict | None:
    if handle.path is None or not ref.path:
        return None
    near = closeness(path_key(ref.path), handle.path, handle.cwd)
    return Verdict("path and lines", near) if near and _overlaps(handle.lines, ref.start_line, ref.end_line) else None


def _overlaps(lines: tuple[int | None, int | None], start: int | None, end: int | None) -> bool:
    first, last = lines
    if start is None or first is None:
        return True
    return first <= (start if end is None else end) and (last is None or last >= start)


def _anchor_to_doc(handle: Handle, ref: DocRef) -> Verdict | None:
    if not ref.anchor or handle.value.casefold() != ref.anchor.casefold():
        return None
    return Verdict("resolved anchor" if handle.kind == "resolved" else "exact anchor", 1)


def _anchor_to_id(handle: Handle, identity: str, kind: str) -> Verdict | None:
    same = bool(identity) and handle.value in (identity, f"{kind}-{identity}")
    return Verdict(f"{kind} id", 1) if same else None


def _anchor_to_thread(handle: Handle, ref: ThreadRef) -> Verdict | None:
    return _anchor_to_id(handle, ref.thread_id, "thread")


def _anchor_to_session(handle: Handle, ref: SessionRef) -> Verdict | None:
    return _anchor_to_id(handle, ref.session_id, "session")


def _anchor_to_invocation(handle: Handle, ref: InvocationRef) -> Verdict | None:
    return _anchor_to_id(handle, ref.invocation_id, "invocation")


def _anchor_to_passage(handle: Handle, ref: PassageRef) -> Verdict | None:
    return Verdict("passage id", 1) if ref.passage_id and handle.value == ref.passage_id else None


def _thread_to_thread(handle: Handle, ref: ThreadRef) -> Verdict | None:
    return Verdict("thread id", 1) if ref.thread_id and handle.value == ref.thread_id else None


def _thread_to_doc(handle: Handle, ref: DocRef) -> Verdict | None:
    return Verdict("thread id", 1) if ref.anchor == f"thread-{handle.value}" else None


def _session_to_session(handle: Handle, ref: SessionRef) -> Verdict | None:
    return Verdict("session id", 1) if ref.session_id and handle.value == ref.session_id else None


def _session_to_doc(handle: Handle, ref: DocRef) -> Verdict | None:
    return Verdict("session id", 1) if ref.anchor == f"session-{handle.value}" else None


def _message_to_passage(handle: Handle, ref: PassageRef) -> Verdict | None:
    if handle.value not in (ref.passage_id, ref.message_id) or not handle.value:
        return None
    return None if ref.thread_id and handle.parent and ref.thread_id != handle.parent else Verdict("message id", 2)


def _invocation_to_invocation(handle: Handle, ref: InvocationRef) -> Verdict | None:
    if not ref.invocation_id or handle.value != ref.invocation_id:
        return None
    return None if handle.parent and handle.parent != ref.session_id else Verdict("invocation id", 1)


def _url_to_url(handle: Handle, ref: UrlRef) -> Verdict | None:
    return Verdict("url", 1) if handle.value and handle.value == url_key(ref.url) else None


def _id_to_doc(handle: Handle, ref: DocRef) -> Verdict | None:
    return Verdict("id on the same server", 1) if ref.anchor and handle.value == ref.anchor else None


def _id_to_passage(handle: Handle, ref: PassageRef) -> Verdict | None:
    return Verdict("id on the same server", 1) if ref.passage_id and handle.value == ref.passage_id else None


def _id_to_url(handle: Handle, ref: UrlRef) -> Verdict | None:
    return Verdict("id on the same server", 1) if handle.value and url_key(handle.value) == url_key(ref.url) else None


TABLE: Mapping[HandleKind, Mapping[type[TargetRef], Compare]] = {
    "path": {DocRef: _path_to_doc, PassageRef: _path_to_passage},
    "resolved": {
        DocRef: _anchor_to_doc,
        ThreadRef: _anchor_to_thread,
        SessionRef: _anchor_to_session,
        InvocationRef: _anchor_to_invocation,
        PassageRef: _anchor_to_passage,
    },
    "query": {
        DocRef: _anchor_to_doc,
        ThreadRef: _anchor_to_thread,
        SessionRef: _anchor_to_session,
        InvocationRef: _anchor_to_invocation,
        PassageRef: _anchor_to_passage,
    },
    "thread": {ThreadRef: _thread_to_thread, DocRef: _thread_to_doc},
    "message": {PassageRef: _message_to_passage},
    "passage": {PassageRef: _anchor_to_passage},
    "session": {SessionRef: _session_to_session, DocRef: _session_to_doc},
    "invocation": {InvocationRef: _invocation_to_invocation},
    "url": {UrlRef: _url_to_url},
    "id": {DocRef: _id_to_doc, PassageRef: _id_to_passage, UrlRef: _id_to_url},
}
"""Handle kind x target kind -> rule. A pair that is missing never matches. `methods.py` says which call opens what."""


def match(handle: Handle, ref: TargetRef) -> Verdict | None:
    """Return by which rule the handle is the target, or null."""
    compare = TABLE[handle.kind].get(type(ref))
    return compare(handle, ref) if compare else None


_TOKEN = re.compile(r"[^\W_]+")


def index_key(ref: TargetRef) -> str:
    """Return the key under which a target is looked up by path; empty for one that no path opens.

    It is the file name, or for a document without a path the first token of its anchor.
    """
    if type(ref) is DocRef:
        return name_of(ref.path) if ref.path else first_token(ref.anchor)
    return name_of(ref.path) if type(ref) is PassageRef and ref.path else ""


def first_token(anchor: str) -> str:
    """First run of letters and digits of an anchor; of `doc:a/b` of its last component."""
    text = anchor.rpartition("/")[2] if anchor.startswith("doc:") else anchor
    found = _TOKEN.search(text)
    return found.group() if found else ""


def keys_of_path(path: PathKey, *, by_token: bool) -> Iterable[str]:
    """Return the index keys under which the targets of an opened path may lie.

    Args:
        path: What a call opened.
        by_token: Whether any target without a path is in the index, so that tokens of the file name are looked up.
    """
    name = path.name
    return dict.fromkeys((name, *_TOKEN.findall(name))) if by_token else (name,)
