"""Hostile input, several readers beside a writer, and a kill in the middle of a rebuild."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.model import Document, Passage, SearchRequest
from memory.search.query import MAX_CHARS, MAX_TERMS, parse
from memory.sources.documents import hashed
from memory.store import SearchStore

FUZZED = int(os.environ.get("TRODDEN_FUZZ_QUERIES", "1500"))
"""10,000 in the long run: TRODDEN_FUZZ_QUERIES=10000."""

SECONDS = float(os.environ.get("TRODDEN_CONCURRENCY_SECONDS", "4"))
"""60 in the long run: TRODDEN_CONCURRENCY_SECONDS=60."""

PIECES = (
    *(
        '"',
        "'",
        "(",
        ")",
        "((((",
        "NEAR(a b, 2)",
        "AND",
        "OR",
        "NOT",
        "*",
        "^",
        ":",
        "-",
        "+",
        "{",
        "}",
        "title:",
        "--",
    ),
    *(
        "\x00",
        "\ud800",
        "\udfff",
        "\u202e",
        "😀",
        "👩‍👩‍👧",
        "ﬀ",
        "\ufeff",
        "\n",
        "\t",
        "%",
        "_",
        "\\",
        ";",
        "F102",
        "ADR-5",
    ),
    *(
        "kettle",
        "水壶",
        "除垢",
        "的",
        "F",
        "字",
        "café",
        "don't",
        "C++",
        "#42",
        "user@host",
        "a/b",
        "key=value",
        "x" * 300,
    ),
)


def some_docs(count: int) -> list[Document]:
    return [
        hashed(
            Document(
                anchor=f"D{at}",
                title=f"Kettle {at} 水壶 {'除垢' if at % 2 else '阀门'}",
                summary=f"word{at % 17} and word{at % 5}",
                passages=(Passage(passage_id="p", text=f"Passage {at} says word{at % 13}. 每月一次。"),),
            )
        )
        for at in range(count)
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchStore]:
    with SearchStore.open(tmp_path_factory.mktemp("store")) as opened:
        opened.put(some_docs(60), origin="t")
        yield opened


@pytest.mark.timeout(600)  # 10,000 of them on a loaded machine
def test_no_fuzzed_query_fails(store: SearchStore) -> None:
    seeded = random.Random(20310401)
    depths = ("summary", "raw")

    for number in range(FUZZED):
        query = seeded.choice(("", " ")).join(seeded.choices(PIECES, k=seeded.randint(0, 40)))
        request = SearchRequest(query=query, depth=depths[number % 2])  # type: ignore[arg-type]
        answer = store.search(request)
        assert not answer.failed, (number, query, answer.findings)


@pytest.mark.parametrize("unit", ["x", "水", "水壶 ", "a b ", '"', "\ud800", "F102 ", "(", "😀"])
def test_a_query_of_a_megabyte_is_cut_and_answered(store: SearchStore, unit: str) -> None:
    query = unit * (1_000_000 // len(unit))

    answer = store.search(SearchRequest(query=query))

    assert not answer.failed
    assert len(parse(query).terms) <= MAX_TERMS
    assert sum(len(term.text) for term in parse(query).terms) <= 2 * MAX_CHARS


def test_readers_never_see_half_and_never_fail_beside_a_writer(tmp_path: Path) -> None:
    failures: list[str] = []
    waits: list[float] = []
    reads = [0]
    with SearchStore.open(tmp_path) as store:
        store.put(some_docs(300), origin="t")
        until = time.monotonic() + SECONDS

        def read(number: int) -> None:
            while time.monotonic() < until:
                answer = store.search(SearchRequest(query=("kettle", "水壶 word3", "D7", "每月")[number]))
                reads[0] += 1
                if answer.failed or not answer.hits:
                    failures.append(f"{answer.request.query}: {answer.findings}")

        def write() -> None:
            at = 0
            while time.monotonic() < until:
                at += 1
                started = time.monotonic()
                store.put([hashed(Document(anchor="W", title=f"Written {at}"))], origin="w")
                waits.append(time.monotonic() - started)

        threads = [threading.Thread(target=read, args=(n,)) for n in range(4)] + [threading.Thread(target=write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sound = store.check().ok

    assert failures == []
    assert sound
    assert len(waits) > 10
    assert reads[0] > 20


REBUILD = """
import sys
from pathlib import Path
from memory.store import SearchStore
store = SearchStore.open(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    store.index(Path(sys.argv[2]), rebuild=True)
"""


def test_a_kill_in_the_middle_of_a_rebuild_leaves_the_old_index_serving(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for at in range(150):
        (docs / f"d{at}.md").write_text(f"# Kettle {at}\n\n" + "About the kettle and its lid. " * 20)
    with SearchStore.open(tmp_path / "data") as store:
        store.index(docs)
        before = [hit.anchor for hit in store.search(SearchRequest(query="kettle 77 lid")).hits]

    command = [sys.executable, "-c", REBUILD, str(tmp_path / "data"), str(docs)]
    for wait in (0.05, 0.2, 0.35):
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        threading.Event().wait(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()

        with SearchStore.open(tmp_path / "data") as store:
            assert store.recovered is None
            assert store.check().ok
            assert [hit.anchor for hit in store.search(SearchRequest(query="kettle 77 lid")).hits] == before
