"""One function a page: each returns the whole text of a generated page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from deploy.cli.main import COMMANDS, build
from deploy.docs.fields import field_docs, first_line, table
from deploy.docs.tables import tables_page
from deploy.settings import Settings
from streams import events, recall
from streams.metrics import METRICS
from streams.topics import MAX_EVENTS_PER_MESSAGE, TOPICS
from warehouse.publisher import load_measures

HEAD = "<!-- written by `make docs`; edit the code instead -->\n"

EVENT_SHAPES: tuple[type, ...] = (
    events.EventBase,
    events.InvocationStarted,
    events.ToolCalled,
    events.InvocationEnded,
    events.MessagePosted,
    events.OutcomeSignalled,
    events.DocumentIndexed,
    events.Source,
    events.TokenCost,
    events.Usage,
    events.Touch,
    recall.RecallOutcome,
    recall.Candidate,
    recall.DocRef,
    recall.ThreadRef,
    recall.SessionRef,
    recall.InvocationRef,
    recall.PassageRef,
    recall.UrlRef,
    recall.RecallEvent,
    recall.Consumption,
    recall.TaskTrajectory,
    recall.Step,
    recall.VerificationSignal,
    recall.AnchorPrior,
    recall.SpecPrior,
    recall.CalibratedPrior,
    recall.Walked,
)


def events_page() -> str:
    """Return docs/events.md: the topics and every shape that travels on them."""
    topics = "\n".join(
        f"| `{t.name}` | `{t.key}` | {t.carries} | {t.cleanup}{f', {t.retention.days} d' if t.retention else ''} |"
        for t in TOPICS
    )
    shapes = "\n\n".join(f"## {shape.__name__}\n\n{first_line(shape)}\n\n{table(shape)}" for shape in EVENT_SHAPES)
    return (
        f"{HEAD}# Topics and events\n\n"
        "A message value is JSON, one object a line; "
        f"the `agent.*` topics carry 1 to {MAX_EVENTS_PER_MESSAGE} events a message.\n"
        "What cannot be read goes to `<topic>.dead` with its reason and position.\n\n"
        f"| topic | key | what | cleanup |\n|---|---|---|---|\n{topics}\n\n{shapes}\n"
    )


def settings_page() -> str:
    """Return docs/settings.md: every variable, its type and default."""
    rows = "\n".join(
        f"| `TRODDEN_{f.name.upper()}` | `{_cell(f.type)}` | `{_cell(_shown(f.name))}` | {_cell(f.text)} |"
        for f in field_docs(Settings)
        if f.name in Settings.model_fields
    )
    return (
        f"{HEAD}# Settings\n\nRead once at start, from the environment.\n\n"
        f"| variable | type | default | |\n|---|---|---|---|\n{rows}\n"
    )


def cli_page() -> str:
    """Return docs/cli.md: every command with its arguments and options."""
    parts = []
    for command in COMMANDS:
        group = typer.main.get_command(build([command]))
        parts.append(_command(f"trodden {command.name}", _children(group)[command.name]))
    return f"{HEAD}# Command line\n\n" + "\n".join(parts)


def _children(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})


def _command(name: str, command: Any) -> str:
    text = [f"## {name}", "", (command.help or "").strip(), ""]
    if children := _children(command):
        return "\n".join([*text, *(_command(f"{name} {sub}", child) for sub, child in children.items())])
    rows = []
    for parameter in command.params:
        flags = ", ".join(f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            flags = f"`{parameter.name.upper()}`"
        rows.append(f"| {flags} | {_cell(' '.join((getattr(parameter, 'help', '') or '').split()))} |")
    if rows:
        text += ["| option | |", "|---|---|", *rows, ""]
    return "\n".join(text)


def measures_page() -> str:
    """Return docs/measures.md: every measure with its formula, denominator and source."""
    parts = [
        f"## {m.title}\n\n`{m.name}`, {m.unit}, since {m.since}. {m.formula[:1].upper()}{m.formula[1:]}.\n\n"
        f"n: {m.n}. Source: {m.spec}.\n"
        for m in load_measures()
    ]
    return (
        f"{HEAD}# Measures\n\n"
        "Read by `trodden measures`, the REST API and, as table macros of the same names, in `catalog.duckdb`. "
        "Each figure has n, a 95 % interval,\nan as-of instant and a state; one whose denominator is empty is null. "
        "Searches that only the search tool itself reported count in none.\n\n" + "\n".join(parts)
    )


def metrics_page() -> str:
    """Return docs/metrics.md: every Prometheus metric with its labels."""
    rows = "\n".join(
        f"| `{m.name}` | {m.kind} | {', '.join(f'`{label}`' for label in m.labels)} | {_cell(m.help)} |"
        for m in METRICS
    )
    return (
        f"{HEAD}# Metrics\n\nServed by every role on `/metrics`, with `/healthz` beside it, from "
        f"`TRODDEN_METRICS_PORT` upwards.\n\n| metric | kind | labels | |\n|---|---|---|---|\n{rows}\n"
    )


def _shown(name: str) -> str:
    default = Settings.model_fields[name].default
    return str(default.get_secret_value() if hasattr(default, "get_secret_value") else default)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


PAGES: dict[str, Callable[[], str]] = {
    "events.md": events_page,
    "settings.md": settings_page,
    "cli.md": cli_page,
    "measures.md": measures_page,
    "metrics.md": metrics_page,
    "tables.md": tables_page,
}
"""File name below docs/ -> the function that writes it."""
