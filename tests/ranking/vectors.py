"""Adapters from the shared vectors' inputs to ranking: the product answers, nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec

from ranking.constitutional import is_constitutional
from ranking.gate import Figures, friction_alarms, spec_conditions
from ranking.mmr import DEFAULT_LAMBDA, diversify, likeness, mmr_applies
from ranking.priors import WINDOW_DAYS, AnchorRecord, spec_prior
from ranking.recency import age_days, read_date, recency
from ranking.rerank import RankItem, RerankSettings, mode_of, rerank
from ranking.sequential import Share
from streams.recall import AnchorPrior, RecallOutcome, ResultStatus
from tests.ranking.build import NOW, a_pool

Record = dict[str, Any]

_TRIALS = 1_000_000
"""Shares of a vector as counts: fine enough for six digits."""


def prior(case: Record) -> Record:
    """Answer one vector of area `prior`."""
    if "switch_gate" in case:
        return _switch(case["switch_gate"])
    if "shadow_baseline_mrr" in case:
        return _alarms(case)
    if "base_order" in case:
        return _order(case)
    if "steps" in case:
        return _kept()
    if "exposure_ages_days" in case:
        counted = [age for age in case["exposure_ages_days"] if age <= WINDOW_DAYS]
        consumed = [age for age in case["consumed_ages_days"] if age <= WINDOW_DAYS]
        newest = min(case["consumed_ages_days"], default=None)
        given = {"exposure_30d": len(counted), "consumed_30d": len(consumed), "days_since_last_consumed": newest}
        return _plain(case | given) | {"exposure_30d": len(counted)}
    if "flag" in case:
        return {"mode": mode_of(case["flag"])}
    return _plain(case)


def _plain(case: Record) -> Record:
    found = spec_prior(_record(case), case.get("mean_ctr_kind"))
    return {
        "branch": found.branch,
        "prior": found.prior,
        "shrunk_ctr": found.shrunk_ctr,
        "recency_factor": found.recency_factor,
        "authority_after": case.get("authority", "observed"),
    }


def _record(case: Record) -> AnchorRecord:
    kind = case.get("kind", "")
    return AnchorRecord(
        kind=kind,
        exposures=case.get("exposure_30d", 0),
        consumed=case.get("consumed_30d", 0),
        days_since_consumed=case.get("days_since_last_consumed"),
        days_since_indexed=case.get("first_indexed_days_ago"),
        constitutional=is_constitutional(kind, case.get("authority", "observed"), case.get("source_path", "")),
    )


def _order(case: Record) -> Record:
    items = [_item(doc, rank) for rank, doc in enumerate(case["base_order"], start=1)]
    means = case.get("mean_ctr", {})
    priors = {doc["anchor"]: _prior(doc, means) for doc in case["base_order"] if "exposure_30d" in doc}
    settings = RerankSettings(mode=mode_of(case["flag"]), estimator=case.get("estimator", "spec"))
    found = rerank(
        items, None if case.get("stats") == "raise" else priors, now=NOW, settings=settings, limit=len(items)
    )
    other = found.base_order if found.shown is found.reranked_order else found.reranked_order
    return {
        "live_order": list(found.shown),
        "shadow_order": None if other is None else list(other),
        "live_set": list(found.shown),
        "index_of": {anchor: place for place, anchor in enumerate(found.shown)},
        "shadow_order_available": found.reranked_order is not None,
    }


def _kept() -> Record:
    """Both orders travel in the sidecar: whatever happens to the process later, they are read back from the event."""
    found = rerank(a_pool("K1", "K2"), {}, now=NOW, settings=RerankSettings(mode="shadow"), limit=2)
    outcome = RecallOutcome(
        result_status=ResultStatus.COUNTED, base_order=found.base_order, reranked_order=found.reranked_order
    )
    read = msgspec.json.decode(msgspec.json.encode(outcome), type=RecallOutcome)
    return {"shadow_order_available": read.reranked_order is not None and read.base_order is not None}


def _item(doc: Record, rank: int) -> RankItem:
    return RankItem(
        anchor=doc["anchor"],
        doc_kind=doc["kind"],
        base_score=doc.get("rrf_score", 1 / (60 + rank)),
        base_rank=rank,
        authority=doc.get("authority", "observed"),
        path=doc.get("source_path", ""),
        updated_at=None if "age_days" not in doc else NOW - timedelta(days=doc["age_days"]),
        keywords=tuple(doc.get("title", "").split()),
    )


def _prior(doc: Record, means: dict[str, float]) -> AnchorPrior:
    return AnchorPrior(
        anchor=doc["anchor"],
        doc_kind=doc["kind"],
        as_of=NOW,
        run_id="vector",
        exposures=doc["exposure_30d"],
        consumptions=doc.get("consumed_30d", 0),
        spec=spec_prior(_record(doc), means.get(doc["kind"])),
    )


def _switch(case: Record) -> Record:
    def figures(when: str) -> Figures:
        return Figures(
            consumed_mrr=case[f"mrr_{when}"],
            short_dwell=_share(case[f"short_dwell_share_{when}"]),
            reformulated=_share(case[f"reformulate_{when}"]),
            grep_fallback=_share(case[f"grep_{when}"]),
        )

    met = not spec_conditions(figures("before"), figures("after"))
    return {"allow_on": met, "spec_conditions_met": met}


def _share(rate: float) -> Share:
    return Share(round(rate * _TRIALS), _TRIALS)


def _alarms(case: Record) -> Record:
    raised = friction_alarms(
        consumed_mrr=case.get("consumed_mrr"),
        baseline_mrr=case.get("shadow_baseline_mrr"),
        abandon_rate=case.get("search_abandon_rate"),
        reformulation_rate=case.get("reformulation_rate"),
    )
    quiet = [name for name in ("consumed_mrr", "search_abandon_rate", "reformulation_rate") if name not in raised]
    named = ["consumed_mrr_below_0.8_baseline" if name == "consumed_mrr" else name for name in raised]
    return {"alarms": named, "alarm_on": raised, "no_alarm_on": quiet}


def fresh(case: Record) -> Record:
    """Answer one vector of area `recency`."""
    if "updated_at" in case:
        factor = recency(case["kind"], age_days(read_date(case["updated_at"]), NOW))
        return {"factor": factor, "finite": factor == factor and abs(factor) != float("inf")}
    return {"factor": recency(case["kind"], case["age_days"])}


def mmr(case: Record) -> Record:
    """Answer one vector of area `mmr`."""
    if "keywords_a" in case:
        return {"similarity": float(likeness([case["keywords_a"], case["keywords_b"]])(0)[1])}
    if "pool_size" in case:
        return {"mmr_applied": mmr_applies(case["pool_size"], case["limit"], case["mode"])}
    if "configured_lambda" in case:
        return {"lambda_used": RerankSettings(mmr_lambda=case["configured_lambda"]).mmr_lambda}
    items, limit = case["items"], case["limit"]
    order = list(range(len(items)))
    if mmr_applies(len(items), limit, case["mode"]):
        like = likeness([item["keywords"] for item in items], [item.get("vector") for item in items])
        latest = {place: place for place, item in enumerate(items) if item.get("pinned")}
        order = diversify(
            [item["score"] for item in items],
            like,
            limit=limit,
            lambda_=case.get("lambda", DEFAULT_LAMBDA),
            latest=latest,
        ).order
    return {"order": [items[place]["anchor"] for place in order[:limit]]}


AREAS: dict[str, Callable[[Record], Record]] = {"prior": prior, "recency": fresh, "mmr": mmr}
