"""What learners are given of a database: sessions, windows of examples, runs, statistics and provenance."""
