"""Structure of soft models: clauses from paths between the arguments of a target, and which of them a model has."""
