"""The search store against its peers: CPU time, ratios of one run, the same documents and vectors.

    python -m benches.search [--docs 10000] [--peer-docs 3000]

Peers that are not installed are named and left out: pip install tantivy lancedb chromadb.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.embed.provider import Identity, TextKind, Vectors, checked
from memory.index.segment import segment
from memory.model import SearchRequest
from memory.store import SearchStore

DIM = 256
PASSAGES = 10
QUERIES = 91

ENGLISH = [
    "session",
    "thread",
    "memory",
    "index",
    "adapter",
    "channel",
    "voice",
    "message",
    "queue",
    "retry",
    "gateway",
    "prompt",
    "agent",
    "review",
    "signal",
    "board",
    "token",
    "budget",
    "context",
    "window",
    "drift",
    "guard",
    "schema",
    "export",
    "import",
    "stream",
    "replay",
    "anchor",
    "passage",
    "ranking",
    "prior",
    "recall",
]
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
    """Write Markdown files with ten passages each and return queries that fit some of them."""
    random = np.random.default_rng(5)
    words = ENGLISH + CHINESE + [f"term{at}" for at in range(4000)]
    weights = 1.0 / (np.arange(len(words)) + 30.0) ** 0.9  # Zipf-Mandelbrot: content words, no stop words
    weights /= weights.sum()
    for at in range(count):
        picked = random.choice(len(words), size=PASSAGES * 40 + 8, p=weights)
        text = [words[word] for word in picked]
        lines = [f"# Document {at} {' '.join(text[:8])}", ""]
        for number in range(PASSAGES):
            start = 8 + 40 * number
            lines += [f"## Part {number} {text[start]}", "", " ".join(text[start : start + 40]) + ".", ""]
        path = folder / f"part{at % 40}" / f"doc-{at}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines), encoding="utf-8")
    return [" ".join(words[word] for word in random.choice(len(words), size=3, p=weights)) for _ in range(QUERIES)]


def cpu_ms(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds of one call."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


def spread(times: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p95."""
    ordered = sorted(times)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.95)]


def ours(folder: Path, docs: Path, queries: Sequence[str], count: int) -> dict[str, Any]:
    """Measure the search store."""
    found: dict[str, Any] = {}
    with SearchStore.open(folder, embedder=ClusteredEmbedder()) as store:
        build = cpu_ms(lambda: store.index(docs))
        found["build docs/CPU-s"] = count / build * 1000
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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=int, default=10_000)
    parser.add_argument("--peer-docs", type=int, default=3000)
    options = parser.parse_args()
    for count in dict.fromkeys((options.peer_docs, options.docs)):
        with tempfile.TemporaryDirectory() as folder:
            docs = Path(folder) / "docs"
            docs.mkdir()
            queries = write_docs(docs, count)
            result = ours(Path(folder) / "store", docs, queries, count)
            print(f"{count:,} documents, {count * PASSAGES:,} passages, {DIM} dimensions")
            for name, value in result.items():
                shown = (
                    f"{value[0]:.2f} / {value[1]:.2f} ms CPU p50/p95" if isinstance(value, tuple) else f"{value:.0f}"
                )
                print(f"  ours  {name:18} {shown}")
            if count == options.peer_docs:
                compare(docs, queries, result, Path(folder))


def compare(docs: Path, queries: Sequence[str], mine: dict[str, Any], folder: Path) -> None:
    """Measure the peers on the same documents, text and vectors, and print ratios to ours."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(docs.rglob("*.md"))]
    pieces = [part for text in texts for part in text.split("\n\n") if part and not part.startswith("#")]
    segmented = [segment(piece) for piece in pieces]
    embedder = ClusteredEmbedder()
    vectors = embedder.embed(pieces, "passage")
    for name, measure in (("tantivy", tantivy_peer), ("lancedb", lancedb_peer), ("chromadb", chroma_peer)):
        if importlib.util.find_spec(name) is None:
            print(f"  {name}: not installed, left out")
            continue
        times = measure(folder / name, segmented, vectors, queries, embedder)
        p50, p95 = spread(times)
        leg = "lexical" if name == "tantivy" else "hybrid"
        print(f"  {name:8} {leg:8} {p50:.2f} / {p95:.2f} ms CPU p50/p95: {p50 / mine[leg][0]:.1f} x ours at p50")


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
    from lancedb.rerankers import RRFReranker  # type: ignore[import-not-found,unused-ignore]

    rows = pa.table(
        {
            "id": pa.array(range(len(texts))),
            "text": pa.array(texts),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIM),
        }
    )
    table = lancedb.connect(folder).create_table("t", rows)
    table.create_fts_index("text")
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
    main()
