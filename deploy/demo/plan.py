"""What the demo's agents do, as data: each visit, what it searches, what it opens, and how often it happens.

Whoever doubts a figure of the demo can count it here. Two documents carry its point: the conflict journal, which agents
open although it stands at rank 4, must rise; the brainstorm, which stands at rank 1 and nobody opens, must sink.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HERO_QUERY = "sync conflict"
"""The search that the demo runs before and after."""

RISES = "F112"
SINKS = "doc:discussions/2031-sync-conflict-brainstorm"


@dataclass(frozen=True, slots=True)
class Search:
    """A search of the memory."""

    query: str


@dataclass(frozen=True, slots=True)
class Together:
    """Searches in one message; their answers come in the opposite order."""

    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """A document is opened: by the Read tool, by a shell command, or by its anchor."""

    anchor: str
    how: Literal["Read", "cat", "graph_resolve"] = "Read"


@dataclass(frozen=True, slots=True)
class Edit:
    """A document is changed; it was opened before."""

    anchor: str


@dataclass(frozen=True, slots=True)
class GrepTree:
    """The agent gives up on the memory and greps the tree."""

    pattern: str
    how: Literal["Grep", "rg"] = "Grep"


@dataclass(frozen=True, slots=True)
class Run:
    """A command that opens nothing."""

    command: str
    outcome: Literal["ok", "error", "interrupted"] = "ok"


@dataclass(frozen=True, slots=True)
class Missing:
    """A read of a file that is not there: an error, and no consumption."""

    path: str


Step = Search | Together | Open | Edit | GrepTree | Run | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One invocation, and on how many days of the last 30 it happens."""

    prompt: str
    steps: tuple[Step, ...]
    times: int = 1
    first_day: int = 2
    """Days before the demo's present of the latest time; the others lie evenly up to day 29."""
    subagent: bool = False
    """The steps are done by a subagent that the main agent starts."""


_TESTS = Run("pytest tests/sync -q")

PLAN: tuple[Visit, ...] = (
    Visit(
        prompt="A plot count came back with a value nobody typed. Find out what the sync did.",
        steps=(Search(HERO_QUERY), Open(RISES), Run("saltmarsh conflicts replay --rules rules.yaml")),
        times=16,
    ),
    Visit(
        prompt="Explain to the team why two corrections of one entry were both kept.",
        steps=(Search(HERO_QUERY), Open(RISES), Open("F103")),
        times=5,
        first_day=3,
    ),
    Visit(
        prompt="Write the test for equal corrections of one field.",
        steps=(Search(HERO_QUERY), Open("ADR-203"), Run("git diff --stat"), _TESTS),
        times=4,
        first_day=4,
    ),
    Visit(
        prompt="Is there anything about conflicts that I should know before I touch the merge code?",
        steps=(Search(HERO_QUERY), Run("git log --oneline -5")),
        times=3,
        first_day=5,
    ),
    Visit(
        prompt="Which rule decides when the observer and the lead corrected the same field?",
        steps=(Search("sync conflict rules same field"), Open("F103")),
        times=12,
        first_day=2,
    ),
    Visit(
        prompt="Check that no rule looks at the clock.",
        steps=(Search("conflict clock wall time"), Open("LL-301"), Open("ADR-203"), _TESTS),
        times=6,
        first_day=3,
    ),
    Visit(
        prompt="潮汐警报的逻辑在哪里？",
        steps=(Search("潮汐 警报"), Open("F106"), Open("doc:discussions/2031-tide-alarm-loudness")),
        times=5,
    ),
    Visit(
        prompt="照片太多，同步很慢，先传哪些？",
        steps=(Search("照片 同步 顺序"), Open("LL-306"), Edit("LL-306")),
        times=3,
    ),
    Visit(
        prompt="导出里的空值怎么处理？",
        steps=(Search("导出 空值"), Open("LL-308", how="cat"), _TESTS),
        times=3,
    ),
    Visit(
        prompt="Add a retry to the satellite link.",
        steps=(
            Search("satellite retry"),
            Open("LL-303"),
            Open("F113"),
            Run("pytest tests/satellite -q", outcome="error"),
            Run("pytest tests/satellite -q"),
        ),
        times=3,
    ),
    Visit(
        prompt="What did we decide about deleting a person's data?",
        steps=(Search("erasure personal data"), Open("ADR-208", how="graph_resolve"), Open("ADR-208")),
        times=2,
    ),
    Visit(
        prompt="Make the form reject impossible temperatures.",
        steps=(Search("form validation"), Search("form ranges block"), Open("LL-305")),
        times=3,
    ),
    Visit(
        prompt="Find the code that blurs coordinates.",
        steps=(Search("blur coordinates"), GrepTree("def blur"), Open("ADR-207")),
        times=2,
    ),
    Visit(
        prompt="Where is the battery budget computed?",
        steps=(Search("battery budget code"), GrepTree("battery_budget", how="rg")),
        times=2,
    ),
    Visit(
        prompt="Do we have anything on drones?",
        steps=(Search("quadcopter"), GrepTree("quadcopter")),
        times=2,
    ),
    Visit(
        prompt="Prepare the packing list and the day plan.",
        steps=(Together(("tablet spare charging", "潮汐 窗口 计划")), Open("LL-304"), Open("F106")),
        times=2,
    ),
    Visit(
        prompt="Look into the recordings of last spring while I work on the export.",
        steps=(Search("bat recordings calibration"), Open("doc:discussions/2031-bat-night"), Open("F114")),
        times=2,
        subagent=True,
    ),
    Visit(
        prompt="Open the old sync notes.",
        steps=(Search("sync engine cursor"), Missing("features/F102-sync.md"), Open("F102"), Open("ADR-202")),
        times=2,
    ),
    Visit(
        prompt="How exact are the positions on the map?",
        steps=(Search("map tiles pack"), Open("doc:research/2031-gps-under-trees")),
        times=2,
        first_day=6,
    ),
    Visit(
        prompt="Rebuild the map pack.",
        steps=(Search("map tiles pack"), Open("F108"), Run("make tiles", outcome="interrupted")),
        times=1,
    ),
)
"""Every visit of the demo. Days are before the demo's present."""
