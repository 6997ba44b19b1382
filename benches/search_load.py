"""Four readers and a writer on one search store, each a process of its own: errors, and how long a write takes.

    python -m benches.search_load [--seconds 60]

The readers also ask what no person would (operators, NUL, emoji, lone surrogates). Exits with 1 when any search
fails, when the index is not sound afterwards, or when the 99th percentile of the writes misses its bound.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import tempfile
import time
from pathlib import Path

from benches.prose import sentences
from memory.model import Document, Passage, SearchRequest
from memory.sources.documents import hashed
from memory.store import SearchStore

WRITE_P99_MS = 250.0
READERS = 4
ODD = ('"', "NEAR(", "title:x", "-", "*", "a\x00b", "\ud800", "((((", "😀", "水壶", "'; --", "^", "AND OR NOT", "F102")


def document(number: int, draw: random.Random, known: list[str]) -> Document:
    """Return a document of ten passages."""
    passages = tuple(Passage(passage_id=f"p{at}", text=" ".join(draw.choices(known, k=3))) for at in range(10))
    return hashed(Document(anchor=f"D{number}", title=f"{number} {draw.choice(known)}", passages=passages))


def read(folder: Path, seed: int, until: float) -> tuple[int, list[str]]:
    """Search until then and return how many searches there were, and what failed."""
    draw, known, done, failures = random.Random(seed), sentences(), 0, list[str]()
    with SearchStore.open(folder) as store:
        while time.monotonic() < until:
            words = [*draw.choice(known).split()[:3], *draw.choices(ODD, k=draw.randrange(3))]
            draw.shuffle(words)
            answer = store.search(SearchRequest(query=" ".join(words)))
            done += 1
            if answer.failed:
                failures.append(f"{words}: {answer.findings}")
    return done, failures


def write(folder: Path, seed: int, until: float) -> list[float]:
    """Replace documents until then and return the wall milliseconds of each write."""
    draw, known, waits = random.Random(seed), sentences(), list[float]()
    with SearchStore.open(folder) as store:
        while time.monotonic() < until:
            changed = document(draw.randrange(1000), draw, known)
            started = time.monotonic()
            store.put([changed], origin=f"w{changed.anchor}")
            waits.append((time.monotonic() - started) * 1000)
    return waits


def main() -> int:
    """Print the figures and return 1 when one is not as it should be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    draw, known = random.Random(3), sentences()
    with tempfile.TemporaryDirectory() as name, multiprocessing.get_context("spawn").Pool(READERS + 1) as pool:
        folder = Path(name)
        with SearchStore.open(folder) as store:
            for number in range(1000):
                store.put([document(number, draw, known)], origin=f"wD{number}")
        until = time.monotonic() + seconds
        readers = [pool.apply_async(read, (folder, seed, until)) for seed in range(READERS)]
        waits = sorted(pool.apply_async(write, (folder, 99, until)).get())
        found = [reader.get() for reader in readers]
        with SearchStore.open(folder) as store:
            sound = store.check().ok
    failures = [failure for _, each in found for failure in each]
    p99 = waits[int(len(waits) * 0.99)]
    print(f"{sum(done for done, _ in found):,} searches of {READERS} readers, {len(failures)} failed {failures[:3]}")
    print(f"{len(waits):,} writes: p50 {waits[len(waits) // 2]:.1f} ms, p99 {p99:.1f} ms (bound {WRITE_P99_MS:.0f})")
    print(f"the index is {'sound' if sound else 'DAMAGED'} afterwards")
    return int(bool(failures) or not sound or p99 > WRITE_P99_MS)


if __name__ == "__main__":
    raise SystemExit(main())
