"""OpenTelemetry traces and logs of tool calls to events: the GenAI conventions, OpenInference, Claude Code's own.

A span comes at its end, so a parent after its children, and a request may be sent twice: calls are named by the tool
call id, else by trace and span. Queries, arguments and documents are there only where the operator opted in; without
them a search's count is unknown, which is not zero. Source: OpenTelemetry GenAI semantic conventions (development
status), OpenInference semantic conventions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from producers import identity
from producers.lines import Problem
from producers.observed import Observed
from producers.otlp import Span, spans, structured, unflatten
from producers.records import mapping, records, text, whole
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, Tally, Turn, turn_events
from streams.events import ToolEvent, ToolStatus
from streams.foreign import candidates_from_mcp_text
from streams.recall import RecallOutcome, ResultStatus

NAME = "otlp"
OPENINFERENCE = "openinference"

_WIRE = re.compile(rb'"(?:resourceSpans|resourceLogs)"')
_SESSION_KEYS = ("gen_ai.conversation.id", "session.id", "mcp.session.id", "thread.id")
_CALL_IDS = ("gen_ai.tool.call.id", "tool_use_id", "tool_call.id", "tool.id")
_QUERIES = ("gen_ai.retrieval.query.text", "gen_ai.memory.query.text", "gen_ai.memory.query")
_DOCUMENTS = ("gen_ai.retrieval.documents", "gen_ai.memory.records")
_SEARCHES = ("search_memory", "retrieval", "retrieve")
_RUNTIMES = {
    "claude-code": "claude-code",
    "claude_code": "claude-code",
    "codex": "codex-cli",
    "gemini-cli": "gemini-cli",
}


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file holds OTLP requests, by its first bytes."""
    return _WIRE.search(head) is not None


def lineage(name: str, head: bytes) -> str:
    """Return the file itself: a request may hold many sessions."""
    return name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of the requests in these files, each call once however often it was sent."""
    problems: list[Problem] = []
    tallies = {file.uri: Tally() for file in files}
    found: list[tuple[Span, str, int]] = []
    for file in files:
        for item in records(file):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            for span in spans(item.value):
                tallies[file.uri].records += 1
                if isinstance(span, str):
                    problems.append(_unread(span, file.uri, item.number))
                else:
                    found.append((span, file.uri, item.number))
    events = list(_events(found, tallies))
    counts = {uri: tally.counts() for uri, tally in tallies.items()}
    return Translation(events=tuple(events), problems=tuple(problems), files=counts)


def _unread(reason: str, uri: str, number: int) -> Problem:
    return Problem(uri=uri, line=number, offset=0, reason=reason, kind="dead", stage="translate")


def _events(found: Sequence[tuple[Span, str, int]], tallies: dict[str, Tally]) -> Iterator[ToolEvent]:
    """Spans by invocation, in order of time."""
    trace = _Trace([span for span, _, _ in found])
    told: set[tuple[str, str]] = set()
    for span, uri, number in sorted(found, key=lambda item: (item[0].start, item[0].span_id)):
        tally = tallies[uri]
        seen = None if trace.carries_a_call(span) else _call(span, number)
        if seen is None:
            tally.skipped[f"no tool call: {span.name[:40]}"] += 1
            continue
        turn, home = trace.turn(span, uri, number)
        if (turn.invocation_id, seen.call_id) in told:
            tally.repeated += 1
            continue
        told.add((turn.invocation_id, seen.call_id))
        agent = text(span.attributes.get("gen_ai.agent.id")) or text(span.attributes.get("agent_id"))
        turn.add(seen, agent=f"{home.runtime}/{agent}" if agent else home.runtime, uri=uri)
        turn.last_at = max(turn.last_at, span.end)
        tally.calls.append(seen)
        tally.results += seen.text is not None
        tally.errors += seen.status is ToolStatus.ERROR
    for turn, home in trace.turns.values():
        yield from turn_events(turn, home)


class _Trace:
    """What spans tell of each other: parents, the agent's own span, and the invocation that they share.

    A trace is one invocation, whatever part of it a request holds: its root comes last, and may come alone.
    """

    def __init__(self, found: Sequence[Span]) -> None:
        self.turns: dict[str, tuple[Turn, Home]] = {}
        self._parents = {span.span_id: span for span in found if not span.is_log}
        self._roots: dict[str, Span] = {}
        for span in sorted(found, key=lambda one: (one.start, one.span_id)):
            if _operation(span) == "invoke_agent" or _kind(span) == "AGENT":
                self._roots.setdefault(span.trace_id, span)

    def turn(self, span: Span, uri: str, number: int) -> tuple[Turn, Home]:
        """Return the invocation of a call."""
        root = self._roots.get(span.trace_id)
        chain = [span, *self._ancestors(span), *([root] if root else [])]
        session = next((text(one.attributes[k]) for one in chain for k in _SESSION_KEYS if one.attributes.get(k)), "")
        runtime = _RUNTIMES.get(span.service, span.service or "otel")
        own = text(span.attributes.get("prompt.id")) or span.trace_id or session
        key = f"{runtime}/{own}"
        if key not in self.turns:
            turn = Turn(
                invocation_id=identity.invocation_id(runtime, own),
                uri=uri,
                line=number,
                at=root.start if root else span.start,
                last_at=root.end if root else span.end,
                prompt=text(root.attributes.get("input.value")) if root else "",
                trigger="prompt" if root else "unknown",
                agent_id=runtime,
                model=text(span.attributes.get("gen_ai.request.model")),
                reason="stop" if root else "end_of_source",
            )
            adapter = OPENINFERENCE if _kind(span) else NAME
            home = Home(adapter=adapter, runtime=runtime, session_id=session or span.trace_id or own)
            self.turns[key] = (turn, home)
        return self.turns[key]

    def carries_a_call(self, span: Span) -> bool:
        """Tell whether an MCP request stands below a tool call's span: it is how that call travelled."""
        if span.is_log or not span.attributes.get("mcp.method.name"):
            return False
        return any(_operation(one) == "execute_tool" or _kind(one) == "TOOL" for one in self._ancestors(span))

    def _ancestors(self, span: Span) -> Iterator[Span]:
        seen = {span.span_id}
        while (parent := self._parents.get(span.parent_id)) is not None and parent.span_id not in seen:
            seen.add(parent.span_id)
            yield parent
            span = parent


def _operation(span: Span) -> str:
    return text(span.attributes.get("gen_ai.operation.name"))


def _kind(span: Span) -> str:
    return text(span.attributes.get("openinference.span.kind")).upper()


def _call(span: Span, number: int) -> Observed | None:
    """The call that a span tells, or null for any other span."""
    if span.is_log:
        return _claude_log(span, number)
    if _kind(span) in ("TOOL", "RETRIEVER", "RERANKER"):
        return _openinference(span, number)
    if _operation(span) in ("execute_tool", *_SEARCHES) or span.attributes.get("mcp.method.name") == "tools/call":
        return _genai(span, number)
    return None


def _seen(span: Span, number: int, name: str, tool_input: dict[str, Any], shown: str | None) -> Observed:
    """A call, named by its own id where that is unique in the world: agents of one trace may all begin at `call_0`."""
    known = (text(span.attributes.get(key)) for key in _CALL_IDS)
    call_id = next((one for one in known if identity.call_scope(one, "")[1] == "native"), "")
    failed = span.failed or bool(span.attributes.get("error.type"))
    return Observed(
        call_id=call_id or f"{span.trace_id}:{span.span_id}",
        name=name,
        input=tool_input,
        at=span.start,
        line=number,
        ended_at=span.end,
        text=shown,
        status=ToolStatus.ERROR if failed else ToolStatus.OK,
        extra={"error_kind": text(span.attributes.get("error.type")) or "error"} if failed else {},
    )


def _genai(span: Span, number: int) -> Observed:
    """A call by the GenAI conventions, of which memory and retrieval operations are searches."""
    found = span.attributes
    operation = _operation(span)
    name = text(found.get("gen_ai.tool.name")) or text(found.get("gen_ai.data_source.id")) or operation or span.name
    arguments = structured(found.get("gen_ai.tool.call.arguments"))
    result = structured(found.get("gen_ai.tool.call.result"))
    seen = _seen(span, number, name, mapping(arguments), _as_text(found.get("gen_ai.tool.call.result")))
    seen.structured = result
    if operation in _SEARCHES or name in _SEARCHES:
        query = next((text(found[key]) for key in _QUERIES if found.get(key)), "") or text(
            mapping(arguments).get("query")
        )
        documents = next((structured(found[key]) for key in _DOCUMENTS if found.get(key)), result)
        seen.input = seen.input or {"query": query}
        seen.recall = _shown(documents, query)
    return seen


def _openinference(span: Span, number: int) -> Observed:
    """A call by OpenInference, whose lists are spelled out in flat names."""
    found = span.attributes
    name = text(found.get("tool.name")) or span.name
    value = structured(found.get("input.value"))
    arguments = mapping(value) or mapping(structured(found.get("tool.parameters")))
    seen = _seen(span, number, name, arguments, _as_text(found.get("output.value")))
    if _kind(span) in ("RETRIEVER", "RERANKER"):
        prefix = "retrieval.documents" if _kind(span) == "RETRIEVER" else "reranker.output_documents"
        query = text(found.get("input.value")) or text(found.get("reranker.query"))
        documents = [
            {part.removeprefix("document."): item for part, item in document.items()}
            for document in unflatten(found, prefix)
        ]
        seen.input = {"query": query}
        seen.recall = _shown(documents or found.get("output.value"), query)
    return seen


def _shown(documents: Any, query: str) -> RecallOutcome:
    """What a search showed; without the opt-in nobody knows, which is no zero."""
    if documents in (None, ""):
        return RecallOutcome(result_status=ResultStatus.RESULT_UNMERGED, query=query)
    known = documents if isinstance(documents, str) else json.dumps(documents, ensure_ascii=False, default=str)
    return candidates_from_mcp_text(known, query)


def _claude_log(span: Span, number: int) -> Observed | None:
    """Claude Code's own `tool_result` event: ids, sizes and durations, no results."""
    if span.name not in ("claude_code.tool_result", "tool_result") or not span.attributes.get("tool_name"):
        return None
    arguments = mapping(structured(span.attributes.get("tool_parameters") or span.attributes.get("tool_input")))
    seen = _seen(span, number, text(span.attributes["tool_name"]), arguments, None)
    worked = span.attributes.get("success") in (True, "true")
    seen.status = ToolStatus.OK if worked else ToolStatus.ERROR
    seen.extra = {} if worked else {"error_kind": text(span.attributes.get("error_type")) or "error"}
    seen.text = None
    seen.at = _began(span, span.attributes.get("duration_ms"))
    return seen


def _began(span: Span, duration_ms: Any) -> datetime:
    millis = whole(duration_ms)
    return span.start if millis is None or millis < 0 else span.start - timedelta(milliseconds=millis)


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


ADAPTER = Adapter(name=NAME, runtime="otel", recognises=recognises, lineage=lineage, translate=translate)
