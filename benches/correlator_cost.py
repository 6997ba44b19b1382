"""What attribution costs beside the decoding of the same events, and whether it stays linear. Prints ratios.

    python -m benches.correlator_cost

Both are measured in one run on the same bytes: invocations of 50 calls, 10 candidates a search, every call with the
input that an agent's call has. Decoded events are kept, as whoever folds them has to. Caches are emptied each round.
Exits with 1 above the bounds in `BOUNDS`.
"""

from __future__ import annotations

import gc
import hashlib
import random
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from correlator import paths, shell
from correlator.decide import END_OF_TIME, decide
from correlator.invocation import Invocation, evolve
from correlator.offline import correlate
from correlator.shell import classify
from streams.codec import batches, decode
from streams.events import (
    AgentId,
    EventId,
    InvocationId,
    SessionId,
    Source,
    TokenCost,
    ToolCalled,
    ToolEvent,
    ToolUseId,
    Touch,
)
from streams.recall import Candidate, DocRef, RecallOutcome, ResultStatus

BOUNDS = {
    "core / decode": 1.5,
    "10,000 calls / 1,000 calls, per call": 2.0,
    "the same, all inside one window": 2.0,
    "1 MB command / 100 KB command, per byte": 2.0,
}
"""Figure -> largest value that is accepted."""

START = datetime(2031, 4, 1, tzinfo=UTC)
WORDS = ("kiln", "glaze", "queue", "oven", "clay", "shelf", "firing", "cone", "slip", "wheel", "ash", "salt", "raku")
FOLDERS = ("docs/plans", "docs/decisions", "src/kiln/core", "src/kiln/api", "tests/kiln", "docs/lessons")
COMMANDS = (
    "git status --short",
    "pytest -q tests/kiln",
    "cd /w/kiln && sed -n '1,120p' {path}",
    "rg -n 'def {word}' src/kiln | head -20",
    "cat {path}",
    "npm run lint 2>&1 | tail -20",
)
TOUCHES: dict[str, Literal["read", "edit"]] = {"Read": "read", "Edit": "edit"}
PATTERN = "SRRBRESRRBEXSRBREXRSRBREXBRESRRBXESRRBEXRSRBREXBRE"
"""Kinds of the 50 calls of an invocation: Search, Read, Bash, Edit, other."""


def a_path(draw: random.Random) -> str:
    """Return a path as an agent's repository has it."""
    return f"{draw.choice(FOLDERS)}/{draw.choice(WORDS)}-{draw.choice(WORDS)}-{draw.randrange(40)}.md"


def an_outcome(draw: random.Random, query: str) -> RecallOutcome:
    """Return a search's answer with ten candidates."""
    shown = tuple(
        Candidate(
            anchor=f"D{draw.randrange(5_000)}",
            rank=rank,
            target=DocRef(path=a_path(draw), anchor=f"D{draw.randrange(5_000)}"),
            doc_kind="plan",
            title=" ".join(draw.choices(WORDS, k=5)),
            score={"rrf": draw.random(), "prior": draw.random() / 10, "total": draw.random()},
        )
        for rank in range(1, 11)
    )
    return RecallOutcome(
        result_status=ResultStatus.COUNTED,
        result_count=10,
        query=query,
        mode="hybrid",
        effective_mode="hybrid",
        candidates=shown,
        ranker_id="spec-1",
    )


def an_input(kind: str, draw: random.Random, shown: RecallOutcome | None) -> tuple[str, dict[str, Any]]:
    """Return tool and input of one call; half of the reads open what the last search showed."""
    candidate = draw.choice(shown.candidates).target if shown is not None and draw.random() < 0.5 else None
    path = candidate.path if isinstance(candidate, DocRef) else a_path(draw)
    if kind == "R":
        return "Read", {"file_path": f"/w/kiln/{path}", "offset": 1, "limit": 200}
    if kind == "B":
        command = draw.choice(COMMANDS).format(path=path, word=draw.choice(WORDS))
        return "Bash", {"command": command, "description": " ".join(draw.choices(WORDS, k=6)), "timeout": 120_000}
    if kind == "E":
        texts = [" ".join(draw.choices(WORDS, k=40)) for _ in range(2)]
        return "Edit", {"file_path": f"/w/kiln/{path}", "old_string": texts[0], "new_string": texts[1]}
    return "TodoWrite", {"todos": [{"content": " ".join(draw.choices(WORDS, k=6)), "status": "pending"}] * 4}


def an_invocation(number: int, draw: random.Random, pattern: str = PATTERN) -> list[ToolEvent]:
    """Return the calls of one invocation in order."""
    events: list[ToolEvent] = []
    shown: RecallOutcome | None = None
    for index, kind in enumerate(pattern):
        recall = None
        if kind == "S":
            query = " ".join(draw.choices(WORDS, k=4))
            tool, given = "search_evidence", {"query": query, "limit": 10}
            recall = shown = an_outcome(draw, query)
        else:
            tool, given = an_input(kind, draw, shown)
        started = START + timedelta(seconds=number * 3_600 + index * 7)
        use = f"toolu_{number:06d}{index:06d}"
        events.append(
            ToolCalled(
                event_id=EventId(hashlib.sha256(use.encode()).hexdigest()[:32]),
                occurred_at=started,
                ended_at=started + timedelta(milliseconds=300),
                agent_id=AgentId("claude-code"),
                runtime="claude-code",
                source=Source(adapter="claude-code", uri="projects/kiln/session.jsonl", position=index * 3),
                invocation_id=InvocationId(f"invocation-{number}"),
                session_id=SessionId(f"session-{number // 10}"),
                root_session_id=SessionId(f"session-{number // 10}"),
                tool_use_id=ToolUseId(use),
                turn_index=index,
                tool=tool,
                tool_raw=tool,
                input=given,
                cwd="/w/kiln",
                tokens=TokenCost(result=400, query=6, quality="estimated"),
                result_digest=hashlib.sha256(use.encode()).hexdigest(),
                result_bytes=1_600,
                touched=(Touch(op=op, path=str(given["file_path"])),) if (op := TOUCHES.get(tool)) else (),
                recall=recall,
            )
        )
    return events


def forget() -> None:
    """Empty the caches of paths and shell commands, so that every round pays for what it meets."""
    paths.path_key.cache_clear()
    shell.remembered.cache_clear()


def best_of(rounds: int, work: Callable[[], object]) -> float:
    """Return the processor seconds of the fastest of several rounds: the cost without the machine's other work."""
    fastest = float("inf")
    for _ in range(rounds):
        gc.collect()
        forget()
        begin = time.process_time()
        work()
        fastest = min(fastest, time.process_time() - begin)
    return fastest


def decide_each(invocations: Iterable[list[ToolEvent]]) -> None:
    """Fold and conclude invocations one after the other, as a worker does."""
    for events in invocations:
        state: Invocation | None = None
        for event in events:
            state = evolve(state, event)
        if state is not None:
            decide(state, END_OF_TIME)


def _both(messages: list[bytes], invocations: list[list[ToolEvent]]) -> tuple[float, float]:
    """Measure decoding and the core one after the other, so that both see the same machine."""

    def decode_each() -> None:
        kept = [decode(message) for message in messages]
        assert kept

    return best_of(1, decode_each), best_of(1, lambda: decide_each(invocations))


def core_to_decode() -> float:
    """Return the cost of the core over that of decoding the same events."""
    draw = random.Random(7)
    invocations = [an_invocation(number, draw) for number in range(200)]
    messages = [message for events in invocations for message in batches(events)]
    gc.collect()
    gc.freeze()  # the inputs are the bench's, not the worker's
    decoded, core = (float(min(times)) for times in zip(*(_both(messages, invocations) for _ in range(7)), strict=True))
    gc.unfreeze()
    calls = sum(map(len, invocations))
    print(f"decode {decoded / calls * 1e6:.2f} us a call, core {core / calls * 1e6:.2f} us a call")
    return core / decoded


def long_invocations(*, apart_s: float) -> float:
    """Return the cost of a call among 10,000 over that of one among 1,000.

    Messages of 100 are decided one by one; calls so close that no window ever closes, only at the end.
    """
    costs = []
    for length in (1_000, 10_000):
        pattern = (PATTERN * (length // 50))[:length]
        events = [_moved(event, apart_s) for event in an_invocation(0, random.Random(7), pattern)]

        def work(events: list[ToolEvent] = events) -> None:
            state: Invocation | None = None
            for index, event in enumerate(events):
                state = evolve(state, event)
                if index % 100 == 99 and apart_s >= 1:
                    decide(state, event.occurred_at)
            if state is not None:
                decide(state, END_OF_TIME)

        costs.append(best_of(3, work) / length)
    return costs[1] / costs[0]


def _moved(event: ToolEvent, apart_s: float) -> ToolEvent:
    """The same call, so many seconds behind the one before it."""
    started = START + (event.occurred_at - START) / 7 * apart_s
    return msgspec.structs.replace(event, occurred_at=started, ended_at=started)


def long_commands() -> float:
    """Return the cost of a byte in a 1 MB command over that of one in a 100 KB command."""
    costs = []
    for size in (100_000, 1_000_000):
        command = ("sed -n '1,9p' docs/a.md && cat 'b c.md' | head -5; " * (size // 50))[:size]
        costs.append(best_of(2, lambda command=command: classify(command)) / size)  # type: ignore[misc]  # bound now
    return costs[1] / costs[0]


def main() -> int:
    """Print the figures and return 1 when one is above its bound."""
    correlate(an_invocation(0, random.Random(1)))
    values = (core_to_decode(), long_invocations(apart_s=7), long_invocations(apart_s=0.005), long_commands())
    figures = dict(zip(BOUNDS, values, strict=True))
    for name, value in figures.items():
        print(f"{name}: {value:.2f} (bound {BOUNDS[name]})")
    return int(any(value > BOUNDS[name] for name, value in figures.items()))


if __name__ == "__main__":
    raise SystemExit(main())
