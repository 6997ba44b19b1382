"""Adapters of the areas of F200 that the search store answers: relaxation, graph, coverage, list_recent, the nudge."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memory.coverage.client import cover
from memory.coverage.matrix import QUOTA, Found, Row, row
from memory.graph.resolve import GraphCandidate, InEdge, WeightedEdge, dormancy_penalty, resolve, walk
from memory.model import Document, Edge, SearchRequest
from memory.search.filters import condition
from memory.search.nudge import coverage_nudge
from memory.search.query import parse
from memory.search.recent import InvalidSinceError, choose_kinds, cutoff
from memory.search.relax import strong_tokens
from memory.search.store import doc_leg, documents
from memory.sources.documents import hashed, parse_instant
from ranking.edges import edge_weight
from ranking.job import read_walks
from streams.recall import Walked
from tests.correlator.vectors import concluded
from tests.memory.vectors import a_store
from tests.ranking.build import a_prior
from tests.warehouse.builders import a_warehouse

Record = dict[str, Any]

NOW = datetime(2031, 3, 10, tzinfo=UTC)


def relaxation(given: Record) -> Record:
    if "tokens" in given:
        return {"strong": strong_tokens(given["tokens"])}
    if "level_hits_in_bm25_order" in given:
        return {"order": given["level_hits_in_bm25_order"]}
    docs = [Document(anchor=anchor, title=text) for anchor, text in given.get("docs", {}).items()]
    first = given["query"].split()[0] if given["query"].split() else ""
    docs += [Document(anchor=anchor, title="-", aliases=(first,)) for anchor in given.get("entity_hits", ())]
    with a_store() as store:
        store.put([hashed(document) for document in docs], origin="vector")
        if given.get("stage") == "fts":
            request = SearchRequest(query=given["query"])
            with store.index_db.read() as db:
                found = doc_leg(db, parse(given["query"]), condition(request), 10)
                names = documents(db, [match.row for match in found])
            rows = [(names[match.row].anchor, str(match.tier)) for match in found]
        else:
            answer = store.search(SearchRequest(query=given["query"]))
            if answer.failed:
                return {"error": True}
            rows = [(hit.anchor, hit.tier) for hit in answer.hits]
    level = rows[0][1] if rows else None
    return {
        "level": level,
        "relaxation_level": level,
        "hits": [anchor for anchor, tier in rows if tier == level],
        "first": rows[0][0] if rows else None,
        "first_level": level,
        "levels": list(dict.fromkeys(tier for _, tier in rows)),
        "order": [anchor for anchor, _ in rows],
        "error": False,
        "meta": {"relaxation_level": level},
    }


def graph(given: Record) -> Record:
    if "relation" in given:
        weight = edge_weight(
            given["relation"],
            given["traversal_ages_days"],
            walk_weight=given["lambda_edge"],
            half_life_days=given["edge_half_life_days"],
        )
        return {"weight": weight}
    if "record_walk" in given:
        source, target, _ = given["record_walk"]
        with a_store() as store:
            for edge in given["stored_edges"]:
                store.add_edge(Edge(source=edge[0], relation=edge[2], target=edge[1]))
            before = store.edges()
            store.put_priors([replace(a_prior(source), walked=(Walked(target, NOW),))])
            return {"error": store.edges() != before}
    if "events" in given:
        return _walked(given)
    if "candidates" in given:
        return _resolved(given)
    return _around(given)


def _walked(given: Record) -> Record:
    recalls, _ = concluded(given)
    shown = {(a, b): relation for event in given["events"] for a, b, relation in event.get("edges", ())}
    counts: dict[tuple[str, str], int] = {}
    after = max(recall.occurred_at for recall in recalls.values()) + timedelta(days=1)
    with tempfile.TemporaryDirectory() as folder:
        walks = read_walks(a_warehouse(Path(folder), list(recalls.values())), after)
    for source, ways in walks.items():
        for way in ways:
            if (source, way.target) in shown:
                counts[source, way.target] = counts.get((source, way.target), 0) + 1
    return {"walked": [[a, b, shown[a, b], count] for (a, b), count in counts.items()]}


def _resolved(given: Record) -> Record:
    candidates = [
        GraphCandidate(
            anchor=each["anchor"],
            title=each["title"],
            kind=each.get("kind", "plan"),
            authority=each.get("authority", "observed"),
            in_edges=tuple(InEdge(e["from_relevance"], e["weight"]) for e in each.get("in_edges", ())),
            degree=each.get("edges", 0),
            days_since_last_consumed=each.get("days_since_last_consumed"),
        )
        for each in given["candidates"]
    ]
    found = resolve(given["query"], candidates)
    return {
        "first": found.ranked[0].candidate.anchor if found.ranked else None,
        "match_reason": {scored.candidate.anchor: scored.match for scored in found.ranked},
        "dormancy_penalty": {candidate.anchor: dormancy_penalty(candidate) for candidate in candidates},
        "status": found.status,
        "resolved": found.resolved,
        "note": found.note,
    }


def _around(given: Record) -> Record:
    center, cap = given["center"], given["max_edges_per_node"]
    if "edges" in given:
        near = [WeightedEdge(center, "related_to", each["to"], each["weight"]) for each in given["edges"]]
        found = walk(center, lambda node: near if node == center else [], max_edges_per_node=cap)
        return {"kept": list(found.nodes)}
    degree, outer = given["center_degree"], given.get("neighbour_degree", 0)

    def edges_of(node: str) -> list[WeightedEdge]:
        if node == center:
            return [WeightedEdge(center, "related_to", f"N{at}") for at in range(degree)]
        return [WeightedEdge(node, "related_to", f"{node}.{at}") for at in range(outer)]

    found = walk(center, edges_of, depth=given["depth"], max_edges_per_node=cap, max_nodes=given["max_nodes"])
    of_center = [edge for edge in found.edges if center in (edge.source, edge.target)]
    return {"truncated": found.truncated, "nodes": len(found.nodes), "edges_of_center": len(of_center)}


class FakeSources:
    """Sources that give what a vector says."""

    def __init__(self, given: Record, release: threading.Event) -> None:
        self._given = given
        self._release = release

    def find(self, scope: str, query: str, limit: int) -> Sequence[Found]:
        if self._given.get(scope) == "stall":
            self._release.wait(30)
        if "hits" in self._given:
            return [Found(anchor=anchor) for place, anchor in self._given["hits"] if place == scope]
        if scope == "docs" and "direct" in self._given:
            return [_found(each) for each in self._given["direct"]]
        count = self._given.get(scope, 0)
        count = count if isinstance(count, int) else int(count == "ok")
        return [Found(anchor=f"{scope}-{at}", keywords=self._words(scope, at)) for at in range(count)][:limit]

    def _words(self, scope: str, at: int) -> tuple[str, ...]:
        return tuple(f"word{n}" for n in range(2)) if scope == "docs" and at == 0 and "alias" in self._given else ()

    def lookup(self, keyword: str, limit: int) -> Sequence[Found]:
        if "alias" in self._given:
            half = self._given["alias"] // 2
            return [Found(anchor=f"{keyword}-alias-{at}") for at in range(half)][:limit]
        if (also := self._given.get("alias_also_finds")) is not None:
            return [Found(anchor=anchor) for anchor in (also if isinstance(also, list) else [also])]
        return [Found(anchor=anchor) for anchor in self._given.get("lookup", {}).get(keyword, ())][:limit]

    def threads(self, ids: Sequence[str]) -> Sequence[Found]:
        return [Found(anchor=each, kind="thread") for each in ids if each in self._given.get("threads_index", ())]

    def consumers(self, anchors: Sequence[str]) -> Mapping[str, Sequence[Found]]:
        if "convention" in self._given and anchors:
            return {anchors[0]: [Found(anchor=f"convention-{at}") for at in range(self._given["convention"])]}
        stated = self._given.get("consumers", {})
        return {a: [Found(anchor=e["anchor"], stale=e.get("stale", False)) for e in stated.get(a, ())] for a in anchors}


def _found(each: Any) -> Found:
    if isinstance(each, str):
        return Found(anchor=each)
    return Found(
        anchor=each["anchor"],
        summary=each.get("summary", ""),
        keywords=tuple(each.get("keywords", ())),
        source_ids=tuple(each.get("source_ids", ())),
    )


def coverage(given: Record) -> Record:
    if "rows" in given:
        kinds = [each["match_type"] for each in given["rows"]]
        return {"each": [_row(row(Found(anchor=f"K{at}"), "docs", kind, "via")) for at, kind in enumerate(kinds)]}
    release = threading.Event()
    try:
        found = cover(
            FakeSources(given, release),
            "question",
            scope=given.get("scope", "all"),
            budget_s=given["budget_ms"] / 1000 if "budget_ms" in given else 15.0,
            quota=given.get("quota", QUOTA),
            max_total=given.get("max_total", 50),
        )
    finally:
        release.set()
    rows = [_row(one) for one in found.rows]
    first = found.page(0, given.get("page_size", 5))
    second = found.page(len(first), given.get("page_size", 5))
    best = next((one for one in rows if one["match_type"] != "direct"), rows[0] if rows else None)
    return {
        "rows": len(rows),
        "match_types": list(dict.fromkeys(one["match_type"] for one in rows)),
        "match_type": rows[0]["match_type"] if rows else None,
        "source": rows[0]["source"] if rows else None,
        "by_source": dict(found.by_source),
        "row": best,
        "each": rows,
        "gaps": list(found.gaps),
        "executed_scopes": list(found.executed_scopes),
        "graph_queried": found.graph_queried,
        "overlap": len({one.anchor for one in first} & {one.anchor for one in second}),
        "degraded": " ".join(found.degraded),
        "timed_out": found.timed_out,
        "origins_of": {one["anchor"]: one["origins"] for one in rows},
        "rows_for": {one["anchor"]: sum(1 for other in rows if other["anchor"] == one["anchor"]) for one in rows},
    }


def _row(one: Row) -> Record:
    return {
        "anchor": one.anchor,
        "match_type": one.match_type,
        "source": one.source,
        "origins": list(one.origins),
        "origin": one.origins[0] if len(one.origins) == 1 else next((o for o in one.origins if o != "query"), None),
        "via": list(one.via),
        "confidence": one.confidence,
    }


def nudge(given: Record) -> Record:
    return {"nudge": coverage_nudge(given["coverage_nudge_query"]) is not None}


def list_recent(given: Record) -> Record:
    if "since" in given and "docs" not in given:
        now = parse_instant(given["now"]) if "now" in given else NOW
        try:
            at = cutoff(given["since"], now or NOW)
        except InvalidSinceError:
            return {"status": "error"}
        said = at.isoformat().replace("+00:00", "Z")
        return {"cutoff": said, "cutoff_instant": said, "status": "ok"}
    if "kinds" in given:
        chosen = choose_kinds(given.get("scope", "all"), given["kinds"])
        return {
            "nudge": chosen.nudge is not None,
            "nudge_text": chosen.nudge or "",
            "dropped_kinds": list(chosen.dropped),
            "kinds": list(chosen.kinds),
            "items": [],
        }
    if "rows" in given:
        return {"items": [trajectory(each) for each in given["rows"]]}
    return {}


def trajectory(each: Record) -> Record:
    from memory.mcp.tools import trajectory_item

    return trajectory_item(
        trajectory_id=each["id"],
        verified=each["verified"],
        files_read=each["files_read"],
        files_modified=each["files_modified"],
        title=each.get("title", ""),
    )
