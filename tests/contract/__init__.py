"""One suite over every log that we ship or support: in memory, embedded, Apache Kafka."""
