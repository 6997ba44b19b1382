"""The search store against its peers: CPU time, ratios of one run, the same documents and vectors.

    python -m benches.search [--docs 10000] [--peer-docs 3000]

Documents are real sentences (`benches/prose.py`). `make bench-search` installs the peers of `benches/peers.txt` into an
environment of their own: what one of them asks for contradicts what the broker's client does. Exits with 1 when a bar
is missed or a peer is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benches.prose import sentences
from memory.embed.provider import Identity, TextKind, Vectors, checked
from memory.index.segment import segment
from memory.model import SearchRequest
from memory.search.query import STOP_WORDS
from memory.store import SearchStore

DIM = 256
PASSAGES = 10
QUERIES = 91
CHINESE_SHARE = 0.2
"""Passages that end in Chinese words."""

PEERS = ("tantivy", "lancedb", "chromadb")

CHINESE = [
    "记忆",
    "检索",
    "索引",
    "会话",
    "线程",
    "语音",
    "消息",
    "队列",
    "网关",
    "提示",
    "审查",
    "信号",
    "看板",
    "预算",
    "上下文",
    "漂移",
    "契约",
    "导出",
    "回放",
    "排序",
    "证据",
    "教训",
]


class ClusteredEmbedder:
    """Unit vectors around 500 centres, by the hash of the text: cheap, deterministic, and shaped like real ones."""

    def __init__(self) -> None:
        self.identity = Identity(provider="bench", model="clustered", revision="1", dim=DIM)
        random = np.random.default_rng(11)
        self._centres = random.normal(size=(500, DIM)).astype(np.float32)
        self._noise = random.normal(size=(4096, DIM)).astype(np.float32)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text."""
        keys = np.array([hash(text) & 0x7FFFFFFF for text in texts])
        return checked(self._centres[keys % 500] + 0.4 * self._noise[keys % 4096], len(texts), DIM)

    def close(self) -> None:
        """Nothing to free."""


def write_docs(folder: Path, count: int) -> list[str]:
    """Write Markdown files of real sentences, ten passages each, and return queries: three words of one sentence."""
    random = np.random.default_rng(5)
    known = sentences()

    def words(least: int) -> list[str]:
        found: list[str] = []
        while len(found) < least:
            found += known[int(random.integers(len(known)))].split()
        return found

    for at in range(count):
        lines = [f"# Document {at} {' '.join(words(8)[:8])}", ""]
        for number in range(PASSAGES):
            text = words(40)
            if random.random() < CHINESE_SHARE:
                text += [CHINESE[int(place)] for place in random.integers(len(CHINESE), size=3)]
            lines += [f"## Part {number} {text[0]}", "", " ".join(text) + ".", ""]
        path = folder / f"part{at % 40}" / f"doc-{at}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines), encoding="utf-8")
    queries: list[str] = []
    while len(queries) < QUERIES:
        sentence = known[int(random.integers(len(known)))]
        telling = [word for word in re.findall(r"[A-Za-z]{4,}", sentence) if word.lower() not in STOP_WORDS]
        if len(telling) >= 3:
            queries.append(" ".join(random.choice(telling, size=3, replace=False)))
    return queries


def cpu_ms(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds of one call."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


def spread(times: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p95."""
    ordered = sorted(times)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.95)]


Figures = dict[str, tuple[float, float]]
"""(p50, p95) by name."""


def ours(folder: Path, docs: Path, queries: Sequence[str], count: int) -> Figures:
    """Measure the search store."""
    found: Figures = {}
    with SearchStore.open(folder, embedder=ClusteredEmbedder()) as store:
        build = cpu_ms(lambda: store.index(docs))
        found["build"] = (count / build * 1000, count / build * 1000)
        store.embed()
        for mode in ("lexical", "hybrid"):
            requests = [SearchRequest(query=query, mode=mode, limit=10) for query in queries]
            for request in requests[:5]:
                store.search(request)
            found[mode] = spread([cpu_ms(lambda r=request: store.search(r)) for request in requests])  # type: ignore[misc]
        edited = docs / "part0" / "doc-0.md"
        text = edited.read_text(encoding="utf-8")
        times = []
        for at in range(20):
            edited.write_text(f"{text}\n\nEdit {at}.\n", encoding="utf-8")
            times.append(cpu_ms(lambda: store.update(docs, ["part0/doc-0.md"])))
        found["update"] = spread(times)
    return found


def main() -> int:
    """Print the figures and return 1 when a bar is missed or a peer is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=int, default=10_000)
    parser.add_argument("--peer-docs", type=int, default=3000)
    options = parser.parse_args()
    met = True
    for count in dict.fromkeys((options.peer_docs, options.docs)):
        with tempfile.TemporaryDirectory() as folder:
            docs = Path(folder) / "docs"
            docs.mkdir()
            queries = write_docs(docs, count)
            mine = ours(Path(folder) / "store", docs, queries, count)
            print(f"{count:,} documents, {count * PASSAGES:,} passages, {DIM} dimensions")
            for name, (p50, p95) in mine.items():
                unit = "documents a CPU second" if name == "build" else "p50/p95, ms CPU"
                print(f"  ours     {name:8} {p50:.2f} / {p95:.2f} {unit}")
            if count == options.docs:
                met &= _check("hybrid, ms CPU at p50", mine["hybrid"][0], at_most=8.0)
                met &= _check("update of one document, ms CPU at p50", mine["update"][0], at_most=10.0)
                met &= _check("build, documents a CPU second", mine["build"][0], at_least=300.0)
            if count == options.peer_docs:
                met &= compare(docs, queries, mine, Path(folder))
    return int(not met)


def _check(name: str, value: float, *, at_least: float = 0.0, at_most: float = float("inf")) -> bool:
    is_met = at_least <= value <= at_most
    bound = f"at most {at_most:g}" if at_least == 0.0 else f"at least {at_least:g}"
    print(f"{'ok  ' if is_met else 'MISS'} {name}: {value:.2f} ({bound})")
    return is_met


def compare(docs: Path, queries: Sequence[str], mine: Figures, folder: Path) -> bool:
    """Measure the peers on the same documents, text and vectors, and print ratios to ours."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(docs.rglob("*.md"))]
    pieces = [part for text in texts for part in text.split("\n\n") if part and not part.startswith("#")]
    segmented = [segment(piece) for piece in pieces]
    embedder = ClusteredEmbedder()
    vectors = embedder.embed(pieces, "passage")
    met = True
    for name, measure in zip(PEERS, (tantivy_peer, lancedb_peer, chroma_peer), strict=True):
        if importlib.util.find_spec(name) is None:
            print(f"MISS {name} is not installed: make bench-search installs what benches/peers.txt names")
            met = False
            continue
        leg = "lexical" if name == "tantivy" else "hybrid"
        p50, p95 = spread(measure(folder / name, segmented, vectors, queries, embedder))
        print(f"  {name:8} {leg:8} {p50:.2f} / {p95:.2f} p50/p95, ms CPU")
        least = 0.0 if name == "tantivy" else 3.0
        met &= _check(f"{name}'s {leg} search over ours", p50 / mine[leg][0], at_least=least)
    return met


def tantivy_peer(folder: Path, texts: Sequence[str], _: Vectors, queries: Sequence[str], __: object) -> list[float]:
    """Full text in Rust."""
    import tantivy  # type: ignore[import-not-found,unused-ignore]

    folder.mkdir()
    schema = tantivy.SchemaBuilder().add_text_field("text", stored=False).add_integer_field("id", stored=True).build()
    index = tantivy.Index(schema, path=str(folder))
    writer = index.writer(50_000_000)
    for at, text in enumerate(texts):
        writer.add_document(tantivy.Document(text=text, id=at))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    return [
        cpu_ms(lambda q=query: searcher.search(index.parse_query(segment(q), ["text"]), 10))  # type: ignore[misc]
        for query in queries
    ]


def lancedb_peer(
    folder: Path, texts: Sequence[str], vectors: Vectors, queries: Sequence[str], embedder: ClusteredEmbedder
) -> list[float]:
    """LanceDB's own hybrid search with reciprocal rank fusion."""
    import lancedb  # type: ignore[import-not-found,unused-ignore]
    import pyarrow as pa
    from lancedb.index import FTS  # type: ignore[import-not-found,unused-ignore]
    from lancedb.rerankers import RRFReranker  # type: ignore[import-not-found,unused-ignore]

    rows = pa.table(
        {
            "id": pa.array(range(len(texts))),
            "text": pa.array(texts),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIM),
        }
    )
    table = lancedb.connect(folder).create_table("t", rows)
    table.create_index("text", config=FTS())
    reranker = RRFReranker()

    def ask(query: str) -> object:
        vector = embedder.embed([query], "query")[0]
        found = table.search(query_type="hybrid").vector(vector).text(segment(query)).rerank(reranker)
        return found.limit(10).to_list()

    for query in queries[:5]:
        ask(query)
    return [cpu_ms(lambda q=query: ask(q)) for query in queries]  # type: ignore[misc]


def chroma_peer(
    folder: Path, texts: Sequence[str], vectors: Vectors, queries: Sequence[str], embedder: ClusteredEmbedder
) -> list[float]:
    """Chroma's vectors with its text filter; it has no ranking of words."""
    import chromadb  # type: ignore[import-not-found,unused-ignore]

    collection = chromadb.PersistentClient(str(folder)).create_collection("bench", metadata={"hnsw:space": "cosine"})
    for at in range(0, len(texts), 5000):
        part = slice(at, at + 5000)
        ids = [str(n) for n in range(at, at + len(texts[part]))]
        collection.add(ids=ids, documents=list(texts[part]), embeddings=vectors[part])

    def ask(query: str) -> object:
        vector = embedder.embed([query], "query")
        word = segment(query).split()[0]
        near = collection.query(query_embeddings=vector, n_results=10)
        worded = collection.query(query_embeddings=vector, n_results=10, where_document={"$contains": word})
        return near, worded

    for query in queries[:5]:
        ask(query)
    return [cpu_ms(lambda q=query: ask(q)) for query in queries]  # type: ignore[misc]


if __name__ == "__main__":
    raise SystemExit(main())
