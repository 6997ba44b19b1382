-- Walks come with the priors of the documents that they begin at.

DROP TABLE walks;
