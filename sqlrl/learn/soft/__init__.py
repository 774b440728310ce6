"""Learners of the weights of soft models: mathematics over hinges and the truth of their atoms."""
