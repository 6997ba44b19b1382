"""Whether the ranking is sound and cheap: a seeded simulation suite and two cost checks. Exits with 1 past a bound.

    python -m benches.ranking [--quick]

Agents are simulated: a result on rank r is examined with probability r^-0.7 and opened with its relevance. That shows
the direction of each effect, not its size on real data.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from scipy.stats import binomtest, spearmanr
from ville import BernoulliTest

from ranking.anchors import AnchorFacts, priors_of
from ranking.calibrated import calibrate
from ranking.counterfactual import LoggedSearch, consumed_mrr, replay
from ranking.evidence import Search, self_test
from ranking.exposures import Exposures, from_table
from ranking.gate import Evidence, Figures, Verdict, judge
from ranking.interleave import Tally
from ranking.rerank import RankItem, RerankSettings, rerank
from ranking.sequential import MIXTURE, Share, e_value
from streams.recall import AnchorPrior, SpecPrior

NOW = datetime(2031, 4, 1, tzinfo=UTC)
EXAMINATION = {rank: rank**-0.7 for rank in range(1, 21)}


@dataclass(frozen=True, slots=True)
class Check:
    """One figure and the bounds it must keep."""

    name: str
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the figure is within its bounds."""
        return self.low <= self.value <= self.high


def neutrality() -> Iterator[Check]:
    """No evidence is exactly neutral: a document whose exposures weigh nothing has ratio 1."""
    rows = exposures_of(np.repeat(np.arange(50), 4), np.tile([1, 2, 3, 4], 50), np.zeros(200), 50, age=np.inf)
    found = calibrate(rows, ["feature"] * 50)
    yield Check("no evidence: largest distance of the ratio from 1", float(np.abs(found.ratio - 1).max()), 0.0, 0.0)
    yield Check("no evidence: largest effect", float(np.abs(found.z).max()), 0.0, 0.0)


def position_bias(random: np.random.Generator) -> Iterator[Check]:
    """Equal documents on different ranks: the calibrated prior must not know the rank, the specification's does."""
    documents, shown = 5000, 200
    ranks = random.permutation(np.arange(documents) % 10 + 1)
    opened = random.binomial(shown, 0.3 * np.array([EXAMINATION[int(rank)] for rank in ranks]))
    anchor = np.repeat(np.arange(documents), shown)
    credit = (np.tile(np.arange(shown), documents) < np.repeat(opened, shown)).astype(float)
    priors = priors_of(exposures_of(anchor, ranks[anchor], credit, documents), {}, NOW)
    literal = spearmanr([prior.spec.prior for prior in priors], ranks).statistic
    ratio = spearmanr([prior.calibrated.ratio if prior.calibrated else 1.0 for prior in priors], ranks).statistic
    yield Check("equal relevance: corr(calibrated prior, rank)", float(ratio), -0.05, 0.05)
    yield Check("equal relevance: corr(specification's prior, rank), for comparison", float(literal), -1.0, 1.0)


def interleaving(searches: int, random: np.random.Generator) -> Iterator[Check]:
    """A ranker against itself: neither team may win, and an implementation that is not ours reaches the same verdicts.

    PyPI holds no interleaving library that does anything: `interleaving` and `interleaved` print a greeting,
    `pyinterleave` has empty modules (all tried). What decides is the sequential test, and there `ville` is the
    independent one: both look after every vote, and at votes that prefer a team as well.
    """
    order = [f"d{number}" for number in range(10)]
    votes = [self_test([_a_search(number, order, random)]) for number in range(searches)]
    wins, decided = sum(vote.b for vote in votes), sum(vote.decided for vote in votes)
    yield Check(f"A/A interleaving over {searches:,} searches: win share", wins / decided, 0.48, 0.52)
    yield Check("A/A interleaving: p-value of scipy's binomial test", float(binomtest(wins, decided).pvalue), 0.01, 1.0)
    same = np.array([vote.b for vote in votes if vote.decided], dtype=float)
    for name, stream in (("A/A", same), ("60 % prefer one", (random.random(1000) < 0.6).astype(float))):
        theirs = BernoulliTest(0.5, alpha=0.05, prior=(MIXTURE, MIXTURE)).fit(stream).e_values_
        wins_so_far = np.cumsum(stream)
        ours = np.array([e_value(int(won), place) for place, won in enumerate(wins_so_far, start=1)])
        differing = int(((ours >= 20) != (theirs >= 20)).sum())
        yield Check(f"{name}: looks of {len(stream):,} at which ville's verdict differs", differing, 0, 0)


def _a_search(number: int, order: list[str], random: np.random.Generator) -> Search:
    opened = [anchor for rank, anchor in enumerate(order, 1) if random.random() < 0.3 * EXAMINATION[rank]]
    return Search(
        recall_id=f"aa-{number}",
        invocation_id=f"aa-{number}",
        occurred_at=NOW,
        tool="search_evidence",
        query="",
        ranker_id="",
        ranker_mode="shadow",
        shown=order,
        teams=[],
        propensities=[],
        base_order=order,
        reranked_order=order,
        consumed=opened,
        ranks=[],
        credits=[],
        dwells=[],
        reformulated=False,
        fell_back_to_grep=False,
        abandoned=not opened,
    )


def gate(runs: int, random: np.random.Generator) -> Iterator[Check]:
    """Sixty daily looks: a ranker that is no better is hardly ever switched on, a better one nearly always."""
    same = [ever_on(0.5, 0.40, random) for _ in range(runs)]
    better = [ever_on(0.6, 0.45, random) for _ in range(runs)]
    peeking = [peeked(0.5, random) for _ in range(runs)]
    yield Check(f"gate: false ON in {runs} runs of 60 daily looks", float(np.mean(same)), 0.0, 0.05)
    yield Check("gate: ON for a ranker that 60 % prefer", float(np.mean(better)), 0.9, 1.0)
    yield Check("gate: false ON of a fixed 5 % test looked at daily, for comparison", float(np.mean(peeking)), 0.0, 1.0)


def ever_on(preference: float, mrr: float, random: np.random.Generator) -> bool:
    """Return whether one run turns ON within 60 daily looks; friction is the same before and after."""
    baseline = _figures(8000, 0.40, random)
    searches = votes = wins = 0
    for day in range(1, 61):
        searches, votes = searches + 120, votes + 20
        wins += int(random.binomial(20, preference))
        evidence = Evidence(
            votes=Tally(a=votes - wins, b=wins, ties=votes),
            first_team=Share(int(random.binomial(searches, 0.5)), searches),
            self_test=Tally(a=500, b=500),
            before=baseline,
            after=_figures(searches, mrr, random),
            votes_a_week=140.0,
            now=NOW + timedelta(days=day),
        )
        if judge(evidence).verdict is Verdict.ON:
            return True
    return False


def peeked(preference: float, random: np.random.Generator) -> bool:
    """Return whether a two-sided 5 % z-test rejects on any of 60 days, in favour of the reranker."""
    wins, votes = np.cumsum(random.binomial(20, preference, 60)), np.arange(1, 61) * 20
    return bool(np.any((wins - votes / 2) / np.sqrt(votes / 4) > 1.96))


def _figures(searches: int, mrr: float, random: np.random.Generator) -> Figures:
    def share(rate: float) -> Share:
        return Share(int(random.binomial(searches, rate)), searches)

    measured = mrr + float(random.normal(0, 0.4 / np.sqrt(searches)))
    return Figures(
        consumed_mrr=measured,
        searches=searches,
        short_dwell=share(0.1),
        reformulated=share(0.2),
        grep_fallback=share(0.1),
        abandoned=share(0.3),
    )


def off_policy(random: np.random.Generator) -> Iterator[Check]:
    """A better ranker on the log of a worse one: replayed ConsumedMRR prefers the log's author, IPS the truth."""
    log: list[LoggedSearch] = []
    theirs: list[list[str]] = []
    ours: list[list[str]] = []
    truth = {"logging": 0.0, "better": 0.0}
    for number in range(6000):
        relevance = dict(zip("abcdefgh", random.permutation([0.9, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.05]), strict=True))
        better = sorted(relevance, key=lambda name: -relevance[name] + 0.8 * random.random())
        logging = sorted(relevance, key=lambda name: -relevance[name] + 1.5 * random.random())
        opened = [n for rank, n in enumerate(logging, 1) if random.random() < relevance[n] * EXAMINATION[rank]]
        log.append(LoggedSearch(invocation=f"i{number}", shown=logging, consumed=dict.fromkeys(opened, 1.0)))
        theirs.append(logging)
        ours.append(better)
        for name, order in (("logging", logging), ("better", better)):
            truth[name] += sum(relevance[anchor] / rank for rank, anchor in enumerate(order, 1))
    plain = (consumed_mrr(log, ours) or 0.0) - (consumed_mrr(log, theirs) or 0.0)
    sound = (replay(log, ours, EXAMINATION).ips or 0.0) - (replay(log, theirs, EXAMINATION).ips or 0.0)
    real = (truth["better"] - truth["logging"]) / len(log)
    yield Check("off-policy: true gain of the better ranker", real, 0.01, 1.0)
    yield Check("off-policy: gain by replayed ConsumedMRR (wrong sign)", plain, -1.0, -0.001)
    yield Check("off-policy: gain by IPS over the true gain", sound / real, 0.8, 1.2)


def rerank_cost() -> Iterator[Check]:
    """Reranking 100 candidates: without diversity, and with it by keywords and by vectors."""
    kinds = ("feature", "lesson", "discussion", "plan")
    pool = [
        RankItem(
            anchor=f"a{n}",
            doc_kind=kinds[n % 4],
            base_score=1 / (61 + n),
            base_rank=n + 1,
            path=f"docs/{n}.md",
            updated_at=NOW - timedelta(days=n),
            keywords=tuple(f"k{(n * step) % 40}" for step in range(1, 6)),
        )
        for n in range(100)
    ]
    priors = {f"a{n}": _prior(f"a{n}", ((n * 37) % 100 - 30) / 200) for n in range(100)}
    settings = RerankSettings(mode="on")
    vectors = np.random.default_rng(1).normal(size=(100, 384)).astype(np.float32)
    embedded = [replace(item, vector=vector) for item, vector in zip(pool, vectors, strict=True)]
    for name, mode, items in (
        ("lexical", "lexical", pool),
        ("hybrid by keywords", "hybrid", pool),
        ("hybrid by vectors", "hybrid", embedded),
    ):
        took = fastest(
            lambda m=mode, i=items: rerank(i, priors, now=NOW, settings=settings, limit=10, search_mode=m),  # type: ignore[misc]  # bound early
            400,
        )
        yield Check(f"rerank of 100 candidates, {name}: ms CPU", took * 1000, 0.0, 0.5)


def job_cost(random: np.random.Generator) -> Iterator[Check]:
    """A million exposures of 200,000 anchors, beyond the SQL: columns, both estimators, the priors as values."""
    rows, anchors = 1_000_000, 200_000
    anchor = np.sort(random.integers(0, anchors, rows))
    names = np.array([f"doc:features/F{number:06d}" for number in range(anchors)])
    rank = random.integers(1, 11, rows)
    table = pa.table(
        {
            "anchor": names[anchor],
            "kind": np.array(["feature", "decision", "plan", "lesson", "discussion"])[anchor % 5],
            "path": np.full(rows, "docs/x.md"),
            "rank": rank.astype(np.int32),
            "tool": np.array(["search_evidence", "graph_resolve"])[rank % 2],
            "runtime": np.array(["claude-code", "codex-cli"])[anchor % 2],
            "age_days": random.uniform(0, 180, rows),
            "credit": (random.random(rows) < 0.2 * rank**-0.7).astype(float),
            "lists": np.ones(rows, dtype=np.int32),
            "list_credit": (random.random(rows) < 0.2).astype(float),
        }
    )
    facts = {
        name: AnchorFacts(kind="feature", path="docs/x.md", days_since_indexed=90.0, last_consumed_at=NOW)
        for name in names.tolist()
    }
    yield Check("prior job, 1M exposures of 200k anchors: s CPU", fastest(lambda: _job(table, facts), 2), 0.0, 3.0)


def _job(table: pa.Table, facts: dict[str, AnchorFacts]) -> int:
    return len(priors_of(from_table(table), facts, NOW))


def fastest(action: Callable[[], object], times: int) -> float:
    """Return the least CPU seconds of some runs: a shared machine only ever adds."""
    best = float("inf")
    gc.collect()
    for _ in range(times):
        started = time.process_time()
        action()
        best = min(best, time.process_time() - started)
    return best


def exposures_of(
    anchor: np.ndarray, rank: np.ndarray, credit: np.ndarray, documents: int, *, age: float = 0.0
) -> Exposures:  # fmt: skip
    """Return exposures of one tool, runtime and age."""
    rows = len(anchor)
    return Exposures(
        anchors=[f"d{number}" for number in range(documents)],
        anchor=anchor.astype(np.int64),
        rank=rank.astype(np.int64),
        tool=np.zeros(rows, dtype=np.int64),
        runtime=np.zeros(rows, dtype=np.int64),
        age_days=np.full(rows, age),
        credit=credit.astype(np.float64),
        lists=np.ones(rows),
        list_credit=credit.astype(np.float64),
        kinds=["feature"] * documents,
        paths=[""] * documents,
    )


def _prior(anchor: str, lift: float) -> AnchorPrior:
    spec = SpecPrior(prior=lift, branch="full", shrunk_ctr=0.2, mean_ctr_kind=0.2, recency_factor=1.0)
    return AnchorPrior(
        anchor=anchor, doc_kind="feature", as_of=NOW, run_id="bench", exposures=40, consumptions=10.0, spec=spec
    )


def main() -> int:
    """Run every check, print one line each, and return 1 when one is out of its bounds."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--quick", action="store_true", help="fewer runs of the gate; the costs are left out")
    quick = options.parse_args().quick
    random = np.random.default_rng(20310401)
    groups: list[Iterator[Check]] = [
        neutrality(),
        position_bias(random),
        interleaving(10_000, random),
        gate(60 if quick else 400, random),
        off_policy(random),
    ]
    if not quick:
        groups += [rerank_cost(), job_cost(random)]
    failed = 0
    for group in groups:
        for check in group:
            failed += not check.holds
            mark = "ok  " if check.holds else "FAIL"
            print(f"{mark} {check.name}: {check.value:.4g} (bounds {check.low:g} to {check.high:g})", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
