"""Samplers of marginal probabilities: Gibbs and MC-SAT, their chains, and what their samples can be trusted for."""
