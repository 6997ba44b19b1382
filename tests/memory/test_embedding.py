"""Search by meaning: whose vectors, when they are missing, and what a broken provider costs."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from memory.embed.client import HttpEmbedder
from memory.embed.hashing import HashingEmbedder
from memory.embed.provider import EmbeddingUnavailable, TextKind, Vectors, checked
from memory.embed.store import embedder
from memory.model import Document, Passage, SearchRequest
from memory.sources.documents import hashed
from memory.store import SearchStore
from memory.vectors.nearest import EXACT_ROWS, matrix, nearest
from streams.clock import FixedClock
from streams.errors import ConfigError

NOW = datetime(2031, 4, 1, tzinfo=UTC)

MEANING = {"kettle": "boil", "cooker": "boil", "水壶": "boil", "desk": "office", "chair": "office"}


def docs(*titles: str) -> list[Document]:
    return [
        hashed(
            Document(anchor=f"D{at}", title=title, passages=(Passage(passage_id="p", text=f"{title}. More of it."),))
        )
        for at, title in enumerate(titles)
    ]


def document(anchor: str, title: str, text: str) -> Document:
    return hashed(Document(anchor=anchor, title=title, passages=(Passage(passage_id="p", text=text),)))


class Failing(HashingEmbedder):
    """Counts how often it is asked, and fails while it is told to."""

    def __init__(self) -> None:
        super().__init__(aliases=MEANING)
        self.fails = False
        self.asked = 0

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        self.asked += 1
        if self.fails:
            raise EmbeddingUnavailable("down")
        return super().embed(texts, kind)


def test_a_word_of_another_language_finds_by_meaning(tmp_path: Path) -> None:
    with SearchStore.open(tmp_path, embedder=HashingEmbedder(aliases=MEANING)) as store:
        store.put(docs("desk", "cooker", "chair"), origin="t")
        store.embed()

        answer = store.search(SearchRequest(query="水壶", mode="hybrid", limit=1))

    assert [hit.anchor for hit in answer.hits] == ["D1"]
    assert answer.effective_mode == "hybrid"


def test_a_provider_that_is_down_costs_two_attempts_a_minute_and_search_goes_on(tmp_path: Path) -> None:
    provider, clock = Failing(), FixedClock(NOW)
    with SearchStore.open(tmp_path, embedder=provider, clock=clock) as store:
        store.put(docs("kettle", "desk"), origin="t")
        store.embed()
        provider.fails, provider.asked = True, 0

        answers = [store.search(SearchRequest(query="kettle", mode="hybrid")) for _ in range(20)]
        clock.at = NOW + timedelta(seconds=61)
        provider.fails = False
        after = store.search(SearchRequest(query="kettle", mode="hybrid"))

    assert {(a.degraded, a.effective_mode, a.hits[0].anchor) for a in answers} == {(True, "lexical", "D0")}
    assert provider.asked == 3
    assert not after.degraded


def test_equal_text_is_embedded_once_and_a_rebuild_embeds_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Kettle\n\nSame words.\n")
    with SearchStore.open(tmp_path / "data", embedder=HashingEmbedder()) as store:
        store.index(folder)
        first = store.embed()
        store.index(folder, rebuild=True)

        assert (first, store.embed()) == (3, 0)


def test_vectors_of_two_models_never_meet(tmp_path: Path) -> None:
    with SearchStore.open(tmp_path, embedder=HashingEmbedder(dim=32)) as store:
        store.put(docs("kettle", "desk"), origin="t")
        store.embed()
    with SearchStore.open(tmp_path, embedder=HashingEmbedder(dim=16, revision="2")) as store:
        before = store.search(SearchRequest(query="kettle", mode="hybrid"))
        embedded = store.embed()
        after = store.search(SearchRequest(query="kettle", mode="hybrid"))

    assert (before.degraded_reason, embedded, after.degraded) == ("vectors_missing", 6, False)
    assert before.hits[0].anchor == "D0"


@pytest.mark.parametrize("bad", [[[1.0, float("nan")]], [[0.0, 0.0]], [[1.0]], [["x", "y"]], [[1.0, 2.0], [1.0, 2.0]]])
def test_what_is_no_unit_vector_is_refused_and_never_padded(bad: list[list[float]]) -> None:
    with pytest.raises(EmbeddingUnavailable):
        checked(bad, 1, 2)


def test_the_nearest_by_bits_are_the_nearest() -> None:
    random = np.random.default_rng(7)
    centres = random.normal(size=(400, 64))
    vectors = checked(np.repeat(centres, 60, axis=0) + 0.3 * random.normal(size=(24_000, 64)), 24_000)
    space = matrix(vectors, np.arange(24_000), np.zeros(24_000, np.int64))
    query = vectors[1234]

    found, _ = nearest(space, query, limit=10)

    assert len(space) > EXACT_ROWS
    assert [near.doc for near in found] == np.argsort(-(vectors @ query), kind="stable")[:10].tolist()


def test_an_unknown_provider_is_named() -> None:
    with pytest.raises(ConfigError, match="expected embeddings off"):
        embedder("magic")


@contextmanager
def a_server(reply: object, status: int = 200) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_openai_compatible_server_gives_vectors_in_the_order_of_the_texts() -> None:
    reply = {"data": [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 0.0]}]}
    with a_server(reply) as url:
        provider = HttpEmbedder(url, dim=2)
        vectors = provider.embed(["a", "b"], "query")
        provider.close()

    assert vectors.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("reply", "status"),
    [({"error": "busy"}, 429), ({"data": [{"embedding": [1.0]}]}, 200), ({"data": "x"}, 200), ({"data": []}, 200)],
)
def test_a_server_that_answers_nonsense_is_unavailable(reply: object, status: int) -> None:
    with a_server(reply, status) as url:
        provider = HttpEmbedder(url, dim=2)
        with pytest.raises(EmbeddingUnavailable):
            provider.embed(["a"], "query")
        provider.close()


def test_the_bundled_model_finds_across_languages_where_it_is_installed(tmp_path: Path) -> None:
    try:
        provider = embedder("bundled")
    except ConfigError as error:
        pytest.skip(str(error))
    with SearchStore.open(tmp_path, embedder=provider) as store:
        store.put(docs("提醒人们休息一下", "数据库迁移脚本", "办公室搬家计划"), origin="t")
        store.embed()

        answer = store.search(SearchRequest(query="tell people to take some rest", mode="semantic", limit=1))

    assert [hit.anchor for hit in answer.hits] == ["D0"]


@pytest.mark.parametrize("query", ["headRefOid", "kiln-watch.ts", "kiln.error_code"])
def test_what_holds_an_identifier_stands_before_what_only_lies_near(tmp_path: Path, query: str) -> None:
    aliases = {"headrefoid": "merge", "kiln": "merge", "watch": "merge", "error_code": "merge", "ts": "merge"}
    near = [document(f"N{number}", f"Merge merge {number}", "merge " * 9) for number in range(5)]
    apart = document("D", "Notes of a firing", f"Somewhere in a long talk about clay stands `{query}` once.")
    loose = document("L", "Errors of the kiln", "kiln error, ts, code, watch, head")
    with SearchStore.open(tmp_path, embedder=HashingEmbedder(aliases=aliases)) as store:
        store.put([*near, loose, apart], origin="t")
        store.embed()

        found = {mode: store.search(SearchRequest(query=query, mode=mode)).hits for mode in ("lexical", "hybrid")}

    assert {mode: hits[0].anchor for mode, hits in found.items()} == {"lexical": "D", "hybrid": "D"}


def test_hybrid_search_parts_near_duplicates_by_their_vectors_when_they_share_no_keyword(tmp_path: Path) -> None:
    with SearchStore.open(tmp_path, embedder=HashingEmbedder(aliases=MEANING)) as store:
        store.put(docs("note kettle", "note cooker", "note desk", "note apple", "note pear", "note plum"), origin="t")
        unembedded = store.search(SearchRequest(query="note kettle", mode="hybrid", rerank="on", limit=2))
        store.embed()
        answer = store.search(SearchRequest(query="note kettle", mode="hybrid", rerank="on", limit=2))

    assert answer.reranked is not None
    assert answer.reranked.base_order[:2] == ("D0", "D1")
    assert answer.hits[0].anchor == "D0"
    assert answer.hits[1].anchor not in ("D0", "D1")
    assert answer.reranked.explanations["D1"].parts["mmr"] < 0
    assert unembedded.reranked is not None
    assert all(why.parts["mmr"] == 0 for why in unembedded.reranked.explanations.values())
