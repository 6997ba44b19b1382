"""Answers as short text for agents: what was found, where, why, and how to open it."""

from __future__ import annotations

from collections.abc import Sequence

from memory.coverage.matrix import Matrix, Row
from memory.graph.client import GraphAnswer
from memory.model import Answer, Hit
from memory.search.filters import from_epoch_ms
from memory.search.store import DocRow


def answer_text(answer: Answer, *, nudge: str | None = None) -> str:
    """Return an answer as text."""
    if answer.failed:
        return f"The search failed: {'; '.join(answer.findings) or answer.degraded_reason}. This is no empty result."
    lines = [_headline(answer), *(f"! {finding}" for finding in answer.findings)]
    if nudge is not None:
        lines.append(nudge)
    for hit in answer.hits:
        lines += hit_lines(hit)
        if answer.request.explain:
            lines.append(f"   = {waterfall(hit)}")
            lines += _unshown(answer, hit)
    return "\n".join(lines)


def waterfall(hit: Hit) -> str:
    """Return the parts of a result's score, which sum to it, and the reason in words."""
    parts = " ".join(f"{name} {part:+.4f}" for name, part in hit.score_parts.items() if part)
    return f"{parts} = {hit.score:.4f}; {hit.reason}"


def _unshown(answer: Answer, hit: Hit) -> list[str]:
    """Return what the reranked order says of a result, where it ran and is not the one that is shown."""
    if hit.explanation is not None or answer.reranked is None:
        return []
    why = answer.reranked.explanations.get(hit.anchor)
    return [] if why is None else [f"   ~ reranked, not shown: {why.sentence()}"]


def _headline(answer: Answer) -> str:
    query = answer.request.query.strip()
    if not answer.hits:
        return f'No results found for "{query}" ({_state(answer)}).'
    said = f'Found {len(answer.hits)} result(s) for "{query}" ({_state(answer)})'
    return f"{said}. No confident match: these are the nearest." if not answer.confident else said + "."


def _state(answer: Answer) -> str:
    parts: list[str] = [answer.effective_mode]
    if answer.degraded:
        parts.append(f"degraded: {answer.degraded_reason}")
    if answer.tier is not None:
        parts.append(f"tier {answer.tier}")
    if answer.coverage is not None:
        parts.append(f"{answer.coverage.documents} documents")
        if answer.coverage.to_embed:
            parts.append(f"{answer.coverage.embedded} of {answer.coverage.to_embed} embedded")
    if answer.index_age_seconds is not None:
        parts.append(f"index {age(answer.index_age_seconds)} old")
    if answer.truncated_terms:
        parts.append(f"{answer.truncated_terms} terms left out")
    return ", ".join(parts)


def age(seconds: float) -> str:
    """Return a duration as a person says it: `40 s`, `12 min`, `3 h`, `5 d`."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or (unit != "min" and seconds >= size):
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def hit_lines(hit: Hit) -> list[str]:
    """Return a result in two to five lines."""
    lines = [f"{hit.rank}. {hit.anchor} [{hit.kind}] {hit.title}"]
    if where := place(hit):
        lines.append(f"   {where}")
    lines += [f"   ! {notice}" for notice in hit.notices]
    lines += [f"   ? needs review: {reason}" for reason in hit.needs_review]
    if hit.snippet:
        lines.append(f"   > {hit.snippet}")
    for found in hit.passages[1:] if hit.passages else ():
        if found.context:
            lines += [f"   | {passage.text}" for passage in found.context]
    return lines


def place(hit: Hit) -> str:
    """Return where a result is opened: its file with lines, or the tool that reads it."""
    if hit.file:
        best = hit.passages[0].passage if hit.passages else None
        lines = f":{best.start_line}-{best.end_line}" if best is not None and best.start_line else ""
        return f"{hit.file}{lines}"
    if hit.drilldown is not None:
        return f"{hit.drilldown['tool']} {hit.drilldown['params']}"
    return ""


def listed(title: str, hits: Sequence[str], *, empty: str) -> str:
    """Return a titled list, or what to say when it is empty."""
    return "\n".join([title, *hits]) if hits else empty


def recent_line(row: DocRow) -> str:
    """Return a listed document as a line."""
    at = from_epoch_ms(row.updated_ms)
    return f"{at:%Y-%m-%d} {row.anchor} [{row.kind}] {row.title}" if at is not None else f"{row.anchor} {row.title}"


def coverage_lines(query: str, matrix: Matrix, page: Sequence[Row], offset: int) -> list[str]:
    """Return a page of a coverage matrix: item, source, who, direct or not, origins, confidence."""
    sources = ", ".join(f"{name} {count}" for name, count in matrix.by_source.items())
    lines = [f'{len(matrix.rows)} rows cover "{query}" ({sources}); rows {offset + 1} to {offset + len(page)}:']
    for at, row in enumerate(page, start=offset + 1):
        how = "direct" if row.is_direct else f"{row.match_type} via {', '.join(row.via)}"
        who = f", in {row.who}" if row.who else ""
        lines.append(f"{at}. {row.anchor} [{row.source}] {row.title} ({how}{who}; confidence {row.confidence:.2f})")
    lines += [f"gap: nothing in {name}" for name in matrix.gaps]
    lines += [f"! {reason}" for reason in matrix.degraded]
    if offset + len(page) < len(matrix.rows):
        lines.append(f"More: search again with offset={offset + len(page)}.")
    return lines


def graph_lines(query: str, found: GraphAnswer) -> list[str]:
    """Return a graph answer: the document with its neighbours, or the candidates to choose from."""
    resolution, graph = found.shown.resolution, found.shown.graph
    if graph is None:
        if resolution.status == "no_match":
            return [f'Nothing fits "{query}".']
        lines = [f'"{query}" is no id. Did you mean one of these? Call again with the id.']
        return lines + [f"{s.candidate.anchor} {s.candidate.title} (by {s.match})" for s in resolution.ranked]
    hit = found.hits.get(graph.center)
    lines = [f"{graph.center} {hit.title if hit is not None else ''} {place(hit) if hit is not None else ''}".strip()]
    lines += [f"{e.source} -{e.relation}-> {e.target} ({e.weight:.2f})" for e in graph.edges]
    if resolution.note == "no_edges":
        lines.append("It stands alone: no document points to it, and it points to none.")
    return lines + (["There is more: the caps cut edges or nodes."] if graph.truncated else [])
