"""Weight learners: they receive networks and labels, never SQL."""
