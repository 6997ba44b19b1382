"""Answers as short text for agents: what was found, where, why, and how to open it."""

from __future__ import annotations

from collections.abc import Sequence

from memory.model import Answer, Hit


def answer_text(answer: Answer, *, nudge: str | None = None) -> str:
    """Return an answer as text."""
    if answer.failed:
        return f"The search failed: {'; '.join(answer.findings) or answer.degraded_reason}. This is no empty result."
    lines = [_headline(answer), *(f"! {finding}" for finding in answer.findings)]
    if nudge is not None:
        lines.append(nudge)
    for hit in answer.hits:
        lines += hit_lines(hit)
    return "\n".join(lines)


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
