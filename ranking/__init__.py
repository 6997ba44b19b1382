"""Consumption priors, recency, diversity, the reranker, its evaluation and its gate."""
