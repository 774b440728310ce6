"""The database that users hold: data, models held against them, inference, and what learners are given."""
