"""The log and its contract: events, topics, codec, errors, dead letters, metrics. Imports none of ours."""
