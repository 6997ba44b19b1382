"""Conversations to documents: one document a thread, one passage a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.model import Document, Passage
from memory.sources.documents import hashed
from memory.sources.markdown import cut

TEXT_KEYS = ("text", "alt", "caption", "title", "subtitle", "label", "description", "body", "markdown", "summary")
"""Fields of rich blocks that hold words (F102 section 8.2)."""
NESTED_KEYS = ("blocks", "items", "sections", "children", "elements", "content")
MAX_DEPTH = 8
SUMMARY_CHARS = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a thread."""

    message_id: str
    content: str
    agent: str | None = None
    """Null for a person."""
    at: datetime | None = None
    blocks: tuple[Mapping[str, Any], ...] = ()
    """Rich blocks: cards, lists, quoted media."""

    @property
    def text(self) -> str:
        """Its words, those of its blocks included, each once."""
        parts = dict.fromkeys(part.strip() for part in (self.content, *_words(self.blocks, 0)) if part.strip())
        return "\n".join(part for part in parts if not any(part != other and part in other for other in parts))


def _words(value: Any, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key in TEXT_KEYS:
            if isinstance(value.get(key), str):
                yield value[key]
        for key in NESTED_KEYS:
            yield from _words(value.get(key), depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _words(item, depth + 1)


def message_passages(thread_id: str, messages: Sequence[Message]) -> tuple[Passage, ...]:
    """Return a passage for each message that says something, in the order given."""
    said = [message for message in messages if message.text]
    return tuple(
        Passage(
            passage_id=f"msg-{message.message_id}",
            text=message.text,
            position=position,
            speaker=message.agent or "user",
            created_at=message.at,
            thread_id=thread_id,
            message_id=message.message_id,
        )
        for position, message in enumerate(said)
    )


def thread_document(thread_id: str, messages: Sequence[Message], *, title: str = "") -> Document:
    """Return a thread as a document: its newest messages as the summary, every message a passage."""
    passages = message_passages(thread_id, messages)
    newest = "\n".join(f"[{passage.speaker}] {passage.text}" for passage in passages[-20:])
    instants = [message.at for message in messages if message.at is not None]
    return hashed(
        Document(
            anchor=f"thread-{thread_id}",
            title=title or (cut(passages[0].text, 80) if passages else f"Thread {thread_id}"),
            kind="thread",
            summary=newest[-SUMMARY_CHARS:],
            keywords=tuple(dict.fromkeys(passage.speaker for passage in passages)),
            updated_at=max(instants, default=None),
            passages=passages,
        )
    )
