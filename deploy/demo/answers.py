"""What the tools of the demo answer, in the form in which Claude Code writes it down."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from deploy.demo.documents import DemoDocument, documents
from deploy.demo.plan import Edit, GrepTree, Missing, Open, Run
from streams import outcome
from streams.recall import Candidate, RecallOutcome

SEARCH_TOOL = "mcp__trodden__search_evidence"
RESOLVE_TOOL = "mcp__trodden__graph_resolve"

Answer = tuple[str, dict[str, Any], Any, Any, bool]
"""Tool, input, answer (null: it never came), structured answer, whether it failed."""


def text(words: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": words}


def search_answer(query: str, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Return what the search tool answers: a list for the agent, and the sidecar in the last line."""
    status, count = outcome.settle(len(candidates))
    said = RecallOutcome(
        result_status=status,
        result_count=count,
        query=query,
        mode="lexical",
        effective_mode="lexical",
        scope="docs",
        depth="summary",
        candidates=tuple(candidates),
        ranker_mode="off",
    )
    rows = [f"{candidate.rank}. {candidate.title} [{candidate.anchor}]" for candidate in candidates]
    head = f"Found {len(rows)} results" if rows else "No results found"
    return [text(outcome.with_sidecar("\n".join([head, *rows]), said))]


def opened(step: Open, docs: str) -> Answer:
    """Return the call that opens a document, and its answer."""
    document = _by_anchor()[step.anchor]
    path = f"{docs}/{document.path}"
    if step.how == "graph_resolve":
        said = RecallOutcome(
            **_counted(1), query=step.anchor, candidates=(_candidate(document),), resolved_anchor=step.anchor
        )
        return RESOLVE_TOOL, {"query": step.anchor}, [text(outcome.with_sidecar(document.title, said))], None, False
    if step.how == "cat":
        shown = {"stdout": document.body, "stderr": "", "interrupted": False, "isImage": False}
        return "Bash", {"command": f"cat docs/{document.path}", "description": "Read it"}, document.body, shown, False
    lines = document.body.splitlines()
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, start=1))
    file = {
        "filePath": path,
        "content": document.body,
        "numLines": len(lines),
        "startLine": 1,
        "totalLines": len(lines),
    }
    return "Read", {"file_path": path}, numbered, {"type": "text", "file": file}, False


def missing(step: Missing, docs: str) -> Answer:
    """Return the read of a file that is not there."""
    gone = "<tool_use_error>File does not exist.</tool_use_error>"
    return "Read", {"file_path": f"{docs}/{step.path}"}, gone, "Error: File does not exist.", True


def edited(step: Edit, docs: str) -> Answer:
    """Return the call that changes a document, and its answer."""
    path = f"{docs}/{_by_anchor()[step.anchor].path}"
    change = {"file_path": path, "old_string": "Lesson.", "new_string": "Lesson, confirmed."}
    told = {"filePath": path, "oldString": "Lesson.", "newString": "Lesson, confirmed.", "structuredPatch": []}
    return "Edit", change, f"The file {path} has been updated.", told, False


def grepped(step: GrepTree) -> Answer:
    """Return a search of the whole tree, which finds code and no document."""
    hit = f"src/{step.pattern.split()[-1].strip('_')}.py"
    if step.how == "rg":
        line = f"{hit}:12:{step.pattern}"
        shown = {"stdout": line, "stderr": "", "interrupted": False, "isImage": False}
        return "Bash", {"command": f"rg -n '{step.pattern}'", "description": "Search the code"}, line, shown, False
    told = {"mode": "files_with_matches", "filenames": [hit], "numFiles": 1}
    return "Grep", {"pattern": step.pattern}, f"Found 1 file\n{hit}", told, False


def ran(step: Run) -> Answer:
    """Return a command that opens nothing, and how it went."""
    asked = {"command": step.command, "description": "Run it"}
    if step.outcome == "interrupted":
        return "Bash", asked, None, None, False
    if step.outcome == "error":
        return "Bash", asked, "Exit code 1\n1 failed", "Error: Exit code 1\n1 failed", True
    return "Bash", asked, "ok", {"stdout": "ok", "stderr": "", "interrupted": False, "isImage": False}, False


def _counted(count: int) -> dict[str, Any]:
    status, number = outcome.settle(count)
    return {"result_status": status, "result_count": number}


def _candidate(document: DemoDocument) -> Candidate:
    target = outcome.target_of(document.anchor, path=document.path)
    return Candidate(anchor=document.anchor, rank=1, target=target, title=document.title)


@cache
def _by_anchor() -> dict[str, DemoDocument]:
    return {document.anchor: document for document in documents()}
