"""Apache Kafka without Docker: Maven copies the jars, Java runs them, one node or three."""
