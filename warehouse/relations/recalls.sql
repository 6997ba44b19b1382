-- name: recalls
-- grain: one row a search with a known outcome ($base = 'known': answered or authoritatively empty; 'exposed': answered)
-- source: searches
SELECT *
FROM searches
WHERE result_status = 'counted' OR ($base = 'known' AND result_status = 'no_results')
