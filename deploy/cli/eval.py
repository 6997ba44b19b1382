"""`trodden eval`: how good search is on queries with known answers, and rankers on logged searches."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from deploy.cli.eval_ranker import loop, ranker
from deploy.settings import load
from memory.embed.provider import Embedder
from memory.embed.store import embedder
from memory.evaluation.measures import Figure, KnownItem, Outcome, by_class, known_item
from memory.evaluation.perturb import perturbed
from memory.model import Mode, SearchRequest
from memory.store import SearchStore
from streams.errors import ConfigError

command = typer.Typer(help="Measure search on queries with known answers, and rankers on logged searches.")

SHOWN = {
    "recall_at_1": "R@1",
    "recall_at_5": "R@5",
    "recall_at_10": "R@10",
    "mrr": "MRR",
    "ndcg_at_10": "nDCG",
    "empty": "empty",
    "no_answer_precision": "no answer",
}
"""Figures of the table, and their headings."""


@command.callback()
def root() -> None:
    """Measure search on queries with known answers, and rankers on logged searches."""


command.command()(ranker)
command.command()(loop)


@command.command()
def search(
    docs: Annotated[Path, typer.Option(help="Folder of documents.")],
    queries: Annotated[Path, typer.Option(help="One JSON object a line: query, anchor, also, class.")],
    mode: Annotated[
        list[str] | None, typer.Option(help="lexical, semantic or hybrid; may be repeated; lexical by default.")
    ] = None,
    embeddings: Annotated[
        str | None, typer.Option(help="Provider; TRODDEN_EMBEDDINGS by default, and bundled where that is off.")
    ] = None,
    perturb: Annotated[int | None, typer.Option(help="Also type every query otherwise, by this seed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Index a folder afresh, ask every query, and print recall, MRR, nDCG and no-answer precision by class."""
    modes = [_mode(name) for name in mode or ["lexical"]]
    items = read_queries(queries)
    if perturb is not None:
        items += perturbed(items, perturb)
    provider = _provider(embeddings or load().embeddings) if modes != ["lexical"] else None
    with tempfile.TemporaryDirectory() as folder, SearchStore.open(Path(folder), embedder=provider) as store:
        store.index(docs)
        store.embed()
        measured = {name: by_class(ask(store, items, name)) for name in modes}
    if as_json:
        typer.echo(
            json.dumps(
                {m: {c: {k: asdict(f) for k, f in fs.items()} for c, fs in t.items()} for m, t in measured.items()}
            )
        )
        return
    model = f"{provider.identity.provider}, {provider.identity.model}" if provider else ""
    for name, table in measured.items():
        Console().print(as_table(name if name == "lexical" else f"{name} ({model})", table))


def _provider(spec: str) -> Embedder:
    """Whose vectors the modes that need some are measured with: without any, they would be lexical in disguise."""
    provider = embedder("bundled" if spec in ("", "off") else spec)
    assert provider is not None
    return provider


def _mode(name: str) -> Mode:
    match name:
        case "lexical" | "semantic" | "hybrid":
            return name
    raise ConfigError(f"expected mode lexical, semantic or hybrid, got {name!r}")


def ask(store: SearchStore, items: list[KnownItem], mode: Mode) -> list[Outcome]:
    """Return what the store gives for each query."""
    found: list[Outcome] = []
    for item in (_resolved(store, item) for item in items):
        answer = store.search(SearchRequest(query=item.query, mode=mode, limit=10))
        shown = tuple(hit.anchor for hit in answer.hits)
        found.append(Outcome(item=item, shown=shown, confident=answer.confident, elapsed_ms=answer.elapsed_ms))
    return found


def _resolved(store: SearchStore, item: KnownItem) -> KnownItem:
    """The item with its anchors as the store has them: a known answer may be named by an alias."""

    def own(anchor: str) -> str:
        document = store.document(anchor)
        return document.anchor if document is not None else anchor

    return replace(item, anchor=item.anchor and own(item.anchor), also=tuple(own(anchor) for anchor in item.also))


def read_queries(path: Path) -> list[KnownItem]:
    """Return the queries of a file.

    Raises:
        ConfigError: naming the line that cannot be read.
    """
    items: list[KnownItem] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                items.append(known_item(json.loads(line)))
            except (ValueError, AttributeError) as error:
                raise ConfigError(f"{path}:{number}: {error}") from None
    return items


def as_table(mode: str, measured: dict[str, dict[str, Figure]]) -> Table:
    """Return the figures of one mode as a table."""
    table = Table(
        title=f"search, {mode}", caption="Below each figure its 95 % interval.", box=box.SIMPLE, padding=(0, 1, 0, 0)
    )
    shown = [key for key in SHOWN if any(figures[key].value is not None for figures in measured.values())]
    for heading in ("class", "n", *(SHOWN[key] for key in shown)):
        table.add_column(heading, justify="left" if heading == "class" else "right", no_wrap=True)
    for name, figures in measured.items():
        table.add_row(name, str(figures["mrr"].n), *(_cell(figures[key]) for key in shown))
    return table


def _cell(figure: Figure) -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "-"
    low, high = (f"{bound:.2f}".removeprefix("0") for bound in (figure.low, figure.high))
    return f"{figure.value:.3f}\n[dim]{low}–{high}[/]"
