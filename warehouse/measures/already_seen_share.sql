-- name: already_seen_share
-- title: Already seen
-- kind: rate
-- unit: share
-- formula: consumptions of documents that had been opened before the search or were named in the prompt / consumptions
-- n: consumptions
-- grain: one figure a slice
-- spec: base rate of ConsumedMRR: reads that search did not cause
-- since: 0.1.0
SELECT
    slice,
    part,
    coalesce(sum(already_seen), 0) AS num,
    coalesce(sum(consumptions), 0) AS den
FROM recalls
GROUP BY slice, part
