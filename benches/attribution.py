"""How right attribution is on the golden corpus: precision and recall of every rule.

    python -m benches.attribution

A fact that the correlator finds and the label has not costs precision; one that it misses costs recall. Exits with 1
when a rule falls below `PRECISION` or `RECALL`.
"""

from __future__ import annotations

from collections import Counter

from tests.correlator.golden import facts_of, load, rule_of

PRECISION = 0.98
RECALL = 0.95


def main() -> int:
    """Print the table and return 1 when some rule is below a bound."""
    cases = load()
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for case in cases:
        found = facts_of(case)
        right.update(map(rule_of, found & case.facts))
        wrong.update(map(rule_of, found - case.facts))
        missed.update(map(rule_of, case.facts - found))
    print(f"{len(cases)} labelled sequences\n{'rule':<36}{'labels':>8}{'precision':>11}{'recall':>8}")
    below = False
    for rule in sorted(right | wrong | missed):
        labels = right[rule] + missed[rule]
        precision = right[rule] / (right[rule] + wrong[rule]) if right[rule] + wrong[rule] else 1.0
        recall = right[rule] / labels if labels else 1.0
        below = below or precision < PRECISION or recall < RECALL
        print(f"{rule:<36}{labels:>8}{precision:>11.3f}{recall:>8.3f}")
    return int(below)


if __name__ == "__main__":
    raise SystemExit(main())
