"""From a query to an answer: terms, tiers, pins, fusion, filters."""
