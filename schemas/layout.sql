-- Layout 8: what the catalog, the models and the runs keep in the database.
--
-- Names are unqualified: the script runs inside the schema that holds them (`sqlrl`). Tables have no primary keys because
-- DuckDB refuses to delete and insert one key in one transaction. One dictionary for each type, one table for each
-- predicate, one atom table for each open predicate and the readable views `named_...` are made when data are loaded; their
-- names stand in `type` and `predicate`.

CREATE TABLE "layout" (
    "version" INTEGER NOT NULL,
    "sqlrl" VARCHAR NOT NULL,
    "created" TIMESTAMP NOT NULL DEFAULT current_timestamp
);
COMMENT ON TABLE "layout" IS 'The layout of these tables; one row.';
COMMENT ON COLUMN "layout"."version" IS 'Number of the layout; migrations raise it.';
COMMENT ON COLUMN "layout"."sqlrl" IS 'Version of sqlrl that wrote the layout.';
COMMENT ON COLUMN "layout"."created" IS 'When the layout was written.';

CREATE TABLE "state" (
    "key" VARCHAR NOT NULL,
    "value" VARCHAR NOT NULL
);
COMMENT ON TABLE "state" IS 'What the catalog as a whole remembers; one row for each key.';
COMMENT ON COLUMN "state"."key" IS 'Name of the entry: examples, example_type, data (version of the data), atoms (what the atom tables were built from), declared (constants by type, as JSON), stale (1: constants may be unused).';
COMMENT ON COLUMN "state"."value" IS 'Its value.';

CREATE TABLE "type" (
    "type" VARCHAR NOT NULL,
    "dictionary" VARCHAR NOT NULL,
    "local" BOOLEAN NOT NULL,
    "choice" BOOLEAN,
    "domain" VARCHAR,
    "declared" BOOLEAN NOT NULL,
    "numeric" BOOLEAN NOT NULL,
    "size" BIGINT NOT NULL,
    "edges" VARCHAR
);
COMMENT ON TABLE "type" IS 'Types of constants.';
COMMENT ON COLUMN "type"."type" IS 'Name of the type.';
COMMENT ON COLUMN "type"."dictionary" IS 'Table (id, name) of its constants.';
COMMENT ON COLUMN "type"."local" IS 'True if its domain in an example is the constants of that example.';
COMMENT ON COLUMN "type"."choice" IS 'What the user set local to; NULL if nothing.';
COMMENT ON COLUMN "type"."domain" IS 'Table (example, id) of a local type.';
COMMENT ON COLUMN "type"."declared" IS 'True if a model lists its constants.';
COMMENT ON COLUMN "type"."numeric" IS 'True if its constants are numbers: 1 and 1.0 are one constant.';
COMMENT ON COLUMN "type"."size" IS 'Number of constants.';
COMMENT ON COLUMN "type"."edges" IS 'Where its numbers are cut into pieces, ascending, as a JSON list; NULL if they are not.';

CREATE TABLE "predicate" (
    "predicate" VARCHAR NOT NULL,
    "open" BOOLEAN NOT NULL,
    "facts" VARCHAR,
    "atoms" VARCHAR,
    "source" VARCHAR,
    "fingerprint" VARCHAR,
    "rows" BIGINT NOT NULL,
    "scope" VARCHAR,
    "given" BOOLEAN NOT NULL,
    "example" VARCHAR,
    "readable" VARCHAR
);
COMMENT ON TABLE "predicate" IS 'Predicates.';
COMMENT ON COLUMN "predicate"."predicate" IS 'Name of the predicate.';
COMMENT ON COLUMN "predicate"."open" IS 'True if it has atoms to predict.';
COMMENT ON COLUMN "predicate"."facts" IS 'Table or view of its facts (a0, a1, ... are ids of constants); NULL until it is bound.';
COMMENT ON COLUMN "predicate"."atoms" IS 'Table of its query atoms; NULL if closed.';
COMMENT ON COLUMN "predicate"."source" IS 'Where the facts came from.';
COMMENT ON COLUMN "predicate"."fingerprint" IS 'Fingerprint of the source when it was loaded.';
COMMENT ON COLUMN "predicate"."rows" IS 'Number of facts.';
COMMENT ON COLUMN "predicate"."scope" IS 'Table of the scope that the user gave; NULL if the scope is full.';
COMMENT ON COLUMN "predicate"."given" IS 'True if the truth of some of its atoms is evidence.';
COMMENT ON COLUMN "predicate"."example" IS 'Where its example stands: argument, column, or NULL for a global predicate.';
COMMENT ON COLUMN "predicate"."readable" IS 'View of the facts with names instead of ids.';

CREATE TABLE "argument" (
    "predicate" VARCHAR NOT NULL,
    "position" INTEGER NOT NULL,
    "name" VARCHAR NOT NULL,
    "type" VARCHAR,
    "block" BOOLEAN NOT NULL,
    "example" BOOLEAN NOT NULL
);
COMMENT ON TABLE "argument" IS 'Arguments of predicates.';
COMMENT ON COLUMN "argument"."predicate" IS 'Name of the predicate.';
COMMENT ON COLUMN "argument"."position" IS 'Position, from 0.';
COMMENT ON COLUMN "argument"."name" IS 'Column of the source.';
COMMENT ON COLUMN "argument"."type" IS 'Type; NULL while it is unknown.';
COMMENT ON COLUMN "argument"."block" IS 'True if exactly one constant of this argument makes the atom true (!).';
COMMENT ON COLUMN "argument"."example" IS 'True if its constants were named as the examples.';

CREATE TABLE "source" (
    "predicate" VARCHAR NOT NULL,
    "role" VARCHAR NOT NULL,
    "storage" VARCHAR NOT NULL,
    "staged" BOOLEAN NOT NULL,
    "signed" BOOLEAN NOT NULL,
    "example" BOOLEAN NOT NULL,
    "kind" VARCHAR NOT NULL,
    "source" VARCHAR NOT NULL,
    "fingerprint" VARCHAR NOT NULL,
    "options" VARCHAR NOT NULL,
    "rows" BIGINT NOT NULL,
    "value" VARCHAR
);
COMMENT ON TABLE "source" IS 'What was loaded, one row for each predicate and role; "part" has what was appended to it and removed from it since.';
COMMENT ON COLUMN "source"."predicate" IS 'Name of the predicate.';
COMMENT ON COLUMN "source"."role" IS 'What its rows say: fact, label, given or soft.';
COMMENT ON COLUMN "source"."storage" IS 'Table of its rows.';
COMMENT ON COLUMN "source"."staged" IS 'True while the rows are text because the types are unknown.';
COMMENT ON COLUMN "source"."signed" IS 'True if the rows carry truth.';
COMMENT ON COLUMN "source"."example" IS 'True if the rows carry the example in a column of its own.';
COMMENT ON COLUMN "source"."kind" IS 'How it can be read again: file, table, view, query; a definition is evaluated again; a relation or another object cannot be.';
COMMENT ON COLUMN "source"."source" IS 'File, table or query; the rules of a definition; a description of an object.';
COMMENT ON COLUMN "source"."fingerprint" IS 'Fingerprint of the source.';
COMMENT ON COLUMN "source"."options" IS 'Options of the load as JSON.';
COMMENT ON COLUMN "source"."rows" IS 'Number of rows, with those that were appended and without those that were removed.';
COMMENT ON COLUMN "source"."value" IS 'Column of the source that holds the soft truth of its rows, from 0 to 1; NULL if they are true or false.';

CREATE TABLE "part" (
    "predicate" VARCHAR NOT NULL,
    "role" VARCHAR NOT NULL,
    "part" INTEGER NOT NULL,
    "storage" VARCHAR NOT NULL,
    "kind" VARCHAR NOT NULL,
    "source" VARCHAR NOT NULL,
    "fingerprint" VARCHAR NOT NULL,
    "options" VARCHAR NOT NULL,
    "rows" BIGINT NOT NULL
);
COMMENT ON TABLE "part" IS 'What was appended to a load, and removed from it, in order; refresh does it again after the load.';
COMMENT ON COLUMN "part"."predicate" IS 'Name of the predicate.';
COMMENT ON COLUMN "part"."role" IS 'What its rows say: fact, label, given or soft.';
COMMENT ON COLUMN "part"."part" IS 'Number of the part, from 1, in the order in which they were made.';
COMMENT ON COLUMN "part"."storage" IS 'Table of its rows: ids of what was appended, names of what was removed.';
COMMENT ON COLUMN "part"."kind" IS 'How it can be read again: file, table, view, query; an object or a relation cannot be; removal for rows that were removed.';
COMMENT ON COLUMN "part"."source" IS 'File, table or query; a description of an object.';
COMMENT ON COLUMN "part"."fingerprint" IS 'Fingerprint of the source.';
COMMENT ON COLUMN "part"."options" IS 'Options of the load as JSON.';
COMMENT ON COLUMN "part"."rows" IS 'Number of rows.';

CREATE TABLE "example" (
    "example" INTEGER NOT NULL,
    "name" VARCHAR NOT NULL,
    "ordinal" INTEGER NOT NULL
);
COMMENT ON TABLE "example" IS 'Examples.';
COMMENT ON COLUMN "example"."example" IS 'Id; that of the constant if a type gives the examples.';
COMMENT ON COLUMN "example"."name" IS 'Name.';
COMMENT ON COLUMN "example"."ordinal" IS 'Order of first appearance in the data, from 0.';

CREATE TABLE "model" (
    "model" INTEGER NOT NULL,
    "name" VARCHAR NOT NULL,
    "text" VARCHAR NOT NULL,
    "json" VARCHAR NOT NULL,
    "created" TIMESTAMP NOT NULL DEFAULT current_timestamp
);
COMMENT ON TABLE "model" IS 'Models kept with the data.';
COMMENT ON COLUMN "model"."model" IS 'Id.';
COMMENT ON COLUMN "model"."name" IS 'Name that the user gave.';
COMMENT ON COLUMN "model"."text" IS 'The rules as .mln text; templates as they were written.';
COMMENT ON COLUMN "model"."json" IS 'The whole model with its weights, as model.schema.json describes it.';
COMMENT ON COLUMN "model"."created" IS 'When it was stored.';

CREATE TABLE "shape" (
    "model" INTEGER NOT NULL,
    "shape" INTEGER NOT NULL,
    "text" VARCHAR NOT NULL,
    "literals" INTEGER NOT NULL
);
COMMENT ON TABLE "shape" IS 'Shapes: clauses with their constants taken out; one SQL query each.';
COMMENT ON COLUMN "shape"."model" IS 'Model.';
COMMENT ON COLUMN "shape"."shape" IS 'Id within the model.';
COMMENT ON COLUMN "shape"."text" IS 'The shape as text.';
COMMENT ON COLUMN "shape"."literals" IS 'Number of literals.';

CREATE TABLE "clause" (
    "model" INTEGER NOT NULL,
    "clause" BIGINT NOT NULL,
    "text" VARCHAR NOT NULL,
    "weight" DOUBLE,
    "hard" BOOLEAN NOT NULL,
    "origin" VARCHAR NOT NULL,
    "step" BIGINT,
    "shape" INTEGER,
    "rule" INTEGER
);
COMMENT ON TABLE "clause" IS 'Clauses of a model.';
COMMENT ON COLUMN "clause"."model" IS 'Model.';
COMMENT ON COLUMN "clause"."clause" IS 'Id within the model.';
COMMENT ON COLUMN "clause"."text" IS 'The clause as text.';
COMMENT ON COLUMN "clause"."weight" IS 'Weight (log-odds); NULL if hard or not learned.';
COMMENT ON COLUMN "clause"."hard" IS 'True if it must hold in every grounding.';
COMMENT ON COLUMN "clause"."origin" IS 'What put it into the model.';
COMMENT ON COLUMN "clause"."step" IS 'Step of the learner that added it; NULL if it was there from the start.';
COMMENT ON COLUMN "clause"."shape" IS 'Its shape.';
COMMENT ON COLUMN "clause"."rule" IS 'Rule of the model that it came from, from 0.';

CREATE TABLE "run" (
    "run" INTEGER NOT NULL,
    "model" INTEGER,
    "learner" VARCHAR NOT NULL,
    "parameters" VARCHAR NOT NULL,
    "seed" BIGINT,
    "versions" VARCHAR NOT NULL,
    "fingerprint" VARCHAR NOT NULL,
    "timings" VARCHAR,
    "started" TIMESTAMP NOT NULL DEFAULT current_timestamp,
    "status" VARCHAR NOT NULL
);
COMMENT ON TABLE "run" IS 'Runs of learners and of inference.';
COMMENT ON COLUMN "run"."run" IS 'Id.';
COMMENT ON COLUMN "run"."model" IS 'The model that was learned or used.';
COMMENT ON COLUMN "run"."learner" IS 'Name of the learner or method.';
COMMENT ON COLUMN "run"."parameters" IS 'Parameters as JSON.';
COMMENT ON COLUMN "run"."seed" IS 'Seed of its random numbers.';
COMMENT ON COLUMN "run"."versions" IS 'Versions of sqlrl and its dependencies as JSON.';
COMMENT ON COLUMN "run"."fingerprint" IS 'Fingerprint of the data: facts, query atoms, examples and constants, whatever loaded them.';
COMMENT ON COLUMN "run"."timings" IS 'Seconds of each stage as JSON.';
COMMENT ON COLUMN "run"."started" IS 'When it started.';
COMMENT ON COLUMN "run"."status" IS 'running, done, interrupted or failed.';

CREATE TABLE "learned_from" (
    "run" INTEGER NOT NULL,
    "example" INTEGER NOT NULL,
    "example_name" VARCHAR NOT NULL,
    "predicate" VARCHAR NOT NULL,
    "constants" VARCHAR[]
);
COMMENT ON TABLE "learned_from" IS 'What a run of a learner learned from: whole examples, or query atoms where there is a scope or all data are one example.';
COMMENT ON COLUMN "learned_from"."run" IS 'Run.';
COMMENT ON COLUMN "learned_from"."example" IS 'Example, by its id in the data of the run.';
COMMENT ON COLUMN "learned_from"."example_name" IS 'Its name.';
COMMENT ON COLUMN "learned_from"."predicate" IS 'Predicate whose query atoms were learned from.';
COMMENT ON COLUMN "learned_from"."constants" IS 'Constants of the query atom; NULL for all query atoms of the predicate in the example.';

CREATE TABLE "clause_statistics" (
    "run" INTEGER NOT NULL,
    "clause" BIGINT NOT NULL,
    "groundings" HUGEINT,
    "open" HUGEINT,
    "satisfied_by_evidence" HUGEINT,
    "violated_by_evidence" HUGEINT,
    "n_observed" HUGEINT,
    "n_predicted" HUGEINT,
    "delta_n" HUGEINT
);
COMMENT ON TABLE "clause_statistics" IS 'Exact counts of each clause over the examples of a run: of a learner, or of predict(keep=True). What a run does not know is NULL.';
COMMENT ON COLUMN "clause_statistics"."run" IS 'Run.';
COMMENT ON COLUMN "clause_statistics"."clause" IS 'Clause.';
COMMENT ON COLUMN "clause_statistics"."groundings" IS 'Groundings: the product of the domain sizes. A hard formula with quantifiers inside is counted by the clauses of its normal form: a FORALL inside gives them grounding variables.';
COMMENT ON COLUMN "clause_statistics"."open" IS 'Groundings that the evidence leaves open: groundings minus the two below. These three are NULL for a formula of several ground clauses (P(x) <=> Q(x)), of which the evidence may decide some.';
COMMENT ON COLUMN "clause_statistics"."satisfied_by_evidence" IS 'Groundings that are true whatever the query atoms are.';
COMMENT ON COLUMN "clause_statistics"."violated_by_evidence" IS 'Groundings that are false whatever the query atoms are.';
COMMENT ON COLUMN "clause_statistics"."n_observed" IS 'True groundings in the observed world (the labels). Of a hard formula with quantifiers inside: groundings minus the ground clauses of its normal form that are violated, which may be below 0. NULL for a prediction until it is evaluated, and if some of its atoms have no label.';
COMMENT ON COLUMN "clause_statistics"."n_predicted" IS 'True groundings in the predicted world, counted as n_observed. NULL for a learner, which predicts each example with other weights.';
COMMENT ON COLUMN "clause_statistics"."delta_n" IS 'n of the observed world minus n of the predicted one. Of a learner summed over its steps, each predicted with the weights before it. NULL where a prediction has no n_observed.';

CREATE TABLE "weight_history" (
    "run" INTEGER NOT NULL,
    "step" BIGINT NOT NULL,
    "clause" BIGINT NOT NULL,
    "delta_n" BIGINT NOT NULL,
    "weight" DOUBLE NOT NULL
);
COMMENT ON TABLE "weight_history" IS 'What the steps of a run changed: a row for each clause whose count differed between labels and prediction.';
COMMENT ON COLUMN "weight_history"."run" IS 'Run.';
COMMENT ON COLUMN "weight_history"."step" IS 'Step, from 0.';
COMMENT ON COLUMN "weight_history"."clause" IS 'Clause.';
COMMENT ON COLUMN "weight_history"."delta_n" IS 'True groundings in the observed world minus those in the predicted one, at this step.';
COMMENT ON COLUMN "weight_history"."weight" IS 'Weight after the step (log-odds, not averaged).';

CREATE TABLE "step" (
    "run" INTEGER NOT NULL,
    "step" BIGINT NOT NULL,
    "example" INTEGER NOT NULL,
    "example_name" VARCHAR NOT NULL,
    "loss" DOUBLE NOT NULL,
    "atoms" BIGINT NOT NULL,
    "correct" BIGINT NOT NULL,
    "score_truth" DOUBLE,
    "score_prediction" DOUBLE
);
COMMENT ON TABLE "step" IS 'Progressive validation: each example is predicted before it is learned.';
COMMENT ON COLUMN "step"."run" IS 'Run.';
COMMENT ON COLUMN "step"."step" IS 'Step, from 0.';
COMMENT ON COLUMN "step"."example" IS 'Example, by its id in the data of the run.';
COMMENT ON COLUMN "step"."example_name" IS 'Its name.';
COMMENT ON COLUMN "step"."loss" IS 'Hamming loss: atoms predicted wrongly.';
COMMENT ON COLUMN "step"."atoms" IS 'Query atoms of the example.';
COMMENT ON COLUMN "step"."correct" IS 'Atoms predicted rightly.';
COMMENT ON COLUMN "step"."score_truth" IS 'Weighted count of the observed world.';
COMMENT ON COLUMN "step"."score_prediction" IS 'Weighted count of the predicted world.';

CREATE TABLE "iteration" (
    "run" INTEGER NOT NULL,
    "iteration" BIGINT NOT NULL,
    "objective" DOUBLE,
    "bound" DOUBLE,
    "optimality" DOUBLE,
    "step" DOUBLE,
    "damping" DOUBLE,
    "cuts" BIGINT,
    "errors" BIGINT
);
COMMENT ON TABLE "iteration" IS 'Iterations of batch learners. What a learner does not have is NULL.';
COMMENT ON COLUMN "iteration"."run" IS 'Run.';
COMMENT ON COLUMN "iteration"."iteration" IS 'Iteration, from 0 (the starting weights) where a learner evaluates them, else from 1.';
COMMENT ON COLUMN "iteration"."objective" IS 'What is maximised or minimised, as the parameters of the run say, penalty included.';
COMMENT ON COLUMN "iteration"."bound" IS 'Bound on the optimal objective; the gap is its difference to the objective.';
COMMENT ON COLUMN "iteration"."optimality" IS 'Largest violation of the condition of optimality: of the (sub)gradient of the objective, or of the constraints.';
COMMENT ON COLUMN "iteration"."step" IS 'Length of the step along the direction of search.';
COMMENT ON COLUMN "iteration"."damping" IS 'What keeps the step inside the region that is trusted (lambda of scaled conjugate gradient).';
COMMENT ON COLUMN "iteration"."cuts" IS 'Cutting planes so far.';
COMMENT ON COLUMN "iteration"."errors" IS 'Atoms predicted wrongly.';

CREATE TABLE "tuning" (
    "run" INTEGER NOT NULL,
    "parameter" VARCHAR NOT NULL,
    "value" DOUBLE NOT NULL,
    "fold" BIGINT,
    "score" DOUBLE NOT NULL,
    "chosen" BOOLEAN NOT NULL
);
COMMENT ON TABLE "tuning" IS 'Scores by which a learner chose a parameter among several values.';
COMMENT ON COLUMN "tuning"."run" IS 'Run.';
COMMENT ON COLUMN "tuning"."parameter" IS 'Name of the parameter.';
COMMENT ON COLUMN "tuning"."value" IS 'Value that was tried.';
COMMENT ON COLUMN "tuning"."fold" IS 'Part that was held out, from 1; NULL if none was.';
COMMENT ON COLUMN "tuning"."score" IS 'Score of the part, such as its log-likelihood; the value with the greatest sum is chosen.';
COMMENT ON COLUMN "tuning"."chosen" IS 'Whether the value was chosen.';

CREATE TABLE "learner_state" (
    "run" INTEGER NOT NULL,
    "name" VARCHAR NOT NULL,
    "type" VARCHAR NOT NULL,
    "shape" BIGINT[] NOT NULL,
    "floats" DOUBLE[],
    "integers" BIGINT[],
    "text" VARCHAR
);
COMMENT ON TABLE "learner_state" IS 'What a run of a learner saved last (fit(checkpoint=True)), so that it can be resumed: named arrays of numbers, and texts.';
COMMENT ON COLUMN "learner_state"."run" IS 'Run.';
COMMENT ON COLUMN "learner_state"."name" IS 'Name of the array or text; of AdaGrad: weight, squares, total, last, ...';
COMMENT ON COLUMN "learner_state"."type" IS 'Type of its numbers: float64, int64, uint64 (kept as the int64 of the same bits) or bool; json for a text.';
COMMENT ON COLUMN "learner_state"."shape" IS 'Sizes of the dimensions; empty for a single number and for a text. A one-dimensional array of a weight learner has one place for each clause.';
COMMENT ON COLUMN "learner_state"."floats" IS 'Its numbers in row order if they are floats.';
COMMENT ON COLUMN "learner_state"."integers" IS 'Its numbers in row order if they are integers or Booleans.';
COMMENT ON COLUMN "learner_state"."text" IS 'The text, JSON.';

CREATE TABLE "added_clause" (
    "run" INTEGER NOT NULL,
    "clause" BIGINT NOT NULL,
    "step" BIGINT NOT NULL,
    "example" INTEGER NOT NULL,
    "example_name" VARCHAR NOT NULL,
    "atom" BIGINT NOT NULL,
    "atom_name" VARCHAR NOT NULL,
    "horn" BOOLEAN NOT NULL,
    "delta_n" BIGINT NOT NULL
);
COMMENT ON TABLE "added_clause" IS 'What caused each clause that a structure learner added.';
COMMENT ON COLUMN "added_clause"."run" IS 'Run.';
COMMENT ON COLUMN "added_clause"."clause" IS 'Id of the clause within the model of the run.';
COMMENT ON COLUMN "added_clause"."step" IS 'Step that added it, from 0.';
COMMENT ON COLUMN "added_clause"."example" IS 'Example of that step, by its id in the data of the run.';
COMMENT ON COLUMN "added_clause"."example_name" IS 'Its name.';
COMMENT ON COLUMN "added_clause"."atom" IS 'The true query atom that was predicted false, from which the clause was found first.';
COMMENT ON COLUMN "added_clause"."atom_name" IS 'That atom with its constants.';
COMMENT ON COLUMN "added_clause"."horn" IS 'True if the literal of that atom is positive in the clause, all others negative; false if all are negative.';
COMMENT ON COLUMN "added_clause"."delta_n" IS 'True groundings in the observed world minus those in the predicted one, when it was added.';

CREATE TABLE "candidate" (
    "run" INTEGER NOT NULL,
    "candidate" BIGINT NOT NULL,
    "clause" VARCHAR NOT NULL,
    "literals" INTEGER NOT NULL,
    "positives" BIGINT NOT NULL,
    "negatives" BIGINT NOT NULL,
    "score" DOUBLE NOT NULL,
    "in_theory" BOOLEAN NOT NULL,
    "atom" BIGINT NOT NULL,
    "atom_name" VARCHAR NOT NULL
);
COMMENT ON TABLE "candidate" IS 'Clauses that a run of ILP found: its theory, and the clauses that it kept besides.';
COMMENT ON COLUMN "candidate"."run" IS 'Run.';
COMMENT ON COLUMN "candidate"."candidate" IS 'Number of the clause within the run, from 0, in the order in which they were found.';
COMMENT ON COLUMN "candidate"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "candidate"."literals" IS 'Number of its literals, with the head.';
COMMENT ON COLUMN "candidate"."positives" IS 'Positive atoms (true by their labels) that it covers.';
COMMENT ON COLUMN "candidate"."negatives" IS 'Negative atoms that it covers.';
COMMENT ON COLUMN "candidate"."score" IS 'Its score when it was found; with the command induce, positive atoms that were covered before do not count in it.';
COMMENT ON COLUMN "candidate"."in_theory" IS 'True if it is in the theory.';
COMMENT ON COLUMN "candidate"."atom" IS 'The seed: the positive atom in whose bottom clause it was found first.';
COMMENT ON COLUMN "candidate"."atom_name" IS 'That atom with its constants.';

CREATE TABLE "coverage" (
    "run" INTEGER NOT NULL,
    "candidate" BIGINT NOT NULL,
    "atom" BIGINT NOT NULL
);
COMMENT ON TABLE "coverage" IS 'Which atoms clauses that ILP found cover: those of the theory, and with keep_coverage all of them.';
COMMENT ON COLUMN "coverage"."run" IS 'Run.';
COMMENT ON COLUMN "coverage"."candidate" IS 'Clause.';
COMMENT ON COLUMN "coverage"."atom" IS 'Query atom of which its body is true.';

CREATE TABLE "joint_count" (
    "run" INTEGER NOT NULL,
    "candidate" BIGINT NOT NULL,
    "pattern" INTEGER NOT NULL,
    "n" BIGINT NOT NULL,
    "groundings" BIGINT NOT NULL,
    "recent" DOUBLE
);
COMMENT ON TABLE "joint_count" IS 'What a run of resolwe has counted so far: how often the query literals of a candidate have which labels where its evidence holds.';
COMMENT ON COLUMN "joint_count"."run" IS 'Run.';
COMMENT ON COLUMN "joint_count"."candidate" IS 'Number of the candidate within the run, from 0.';
COMMENT ON COLUMN "joint_count"."pattern" IS 'The labels: bit i is 1 where the atom of query literal i is true, whatever the sign of the literal.';
COMMENT ON COLUMN "joint_count"."n" IS 'Distinct tuples of query atoms with these labels that the evidence selects.';
COMMENT ON COLUMN "joint_count"."groundings" IS 'Groundings of the evidence that select them.';
COMMENT ON COLUMN "joint_count"."recent" IS 'What is left of n where counts decay; NULL otherwise.';

CREATE TABLE "formulation" (
    "run" INTEGER NOT NULL,
    "candidate" BIGINT NOT NULL,
    "template" VARCHAR NOT NULL,
    "formula" VARCHAR NOT NULL,
    "implied" INTEGER,
    "support" BIGINT NOT NULL,
    "matched" BIGINT NOT NULL,
    "probability" DOUBLE,
    "bound" DOUBLE,
    "g2" DOUBLE,
    "p_value" DOUBLE,
    "kept" BOOLEAN NOT NULL,
    "reason" VARCHAR NOT NULL,
    "recent" DOUBLE
);
COMMENT ON TABLE "formulation" IS 'The formulations of candidates that a run of resolwe looked at, and why it kept or dropped them.';
COMMENT ON COLUMN "formulation"."run" IS 'Run.';
COMMENT ON COLUMN "formulation"."candidate" IS 'Number of the candidate within the run, from 0.';
COMMENT ON COLUMN "formulation"."template" IS 'The template that it comes from.';
COMMENT ON COLUMN "formulation"."formula" IS 'The conjunction as a model has it.';
COMMENT ON COLUMN "formulation"."implied" IS 'Which query literal the others imply, from 0; NULL for the conjunction of all.';
COMMENT ON COLUMN "formulation"."support" IS 'Selected tuples of query atoms that its probability is a share of.';
COMMENT ON COLUMN "formulation"."matched" IS 'Those of them that agree with it.';
COMMENT ON COLUMN "formulation"."probability" IS 'That share; NULL where nothing is selected.';
COMMENT ON COLUMN "formulation"."bound" IS 'The bound of the probability that was compared with the threshold.';
COMMENT ON COLUMN "formulation"."g2" IS 'Likelihood ratio against the default distribution; NULL unless that was estimated.';
COMMENT ON COLUMN "formulation"."p_value" IS 'How likely so much of it is by chance.';
COMMENT ON COLUMN "formulation"."kept" IS 'True if it is in the model.';
COMMENT ON COLUMN "formulation"."reason" IS 'Why it is not; empty if it is.';
COMMENT ON COLUMN "formulation"."recent" IS 'What is left of the support where counts decay: what its probability is a share of; NULL otherwise.';

CREATE TABLE "rule_log" (
    "run" INTEGER NOT NULL,
    "step" BIGINT NOT NULL,
    "subgraphs" BIGINT NOT NULL,
    "event" VARCHAR NOT NULL,
    "candidate" BIGINT NOT NULL,
    "formula" VARCHAR NOT NULL,
    "implied" INTEGER,
    "recent" DOUBLE NOT NULL,
    "probability" DOUBLE NOT NULL,
    "bound" DOUBLE NOT NULL,
    "reason" VARCHAR NOT NULL
);
COMMENT ON TABLE "rule_log" IS 'Which rules came into the model and went again while a run of resolwe followed a stream that drifts.';
COMMENT ON COLUMN "rule_log"."run" IS 'Run.';
COMMENT ON COLUMN "rule_log"."step" IS 'Window of the stream after which it happened, from 1.';
COMMENT ON COLUMN "rule_log"."subgraphs" IS 'Subgraphs that had been counted then.';
COMMENT ON COLUMN "rule_log"."event" IS 'Either came or went.';
COMMENT ON COLUMN "rule_log"."candidate" IS 'Number of the candidate within the run, from 0.';
COMMENT ON COLUMN "rule_log"."formula" IS 'The conjunction as a model has it.';
COMMENT ON COLUMN "rule_log"."implied" IS 'Which query literal the others imply, from 0; NULL for the conjunction of all.';
COMMENT ON COLUMN "rule_log"."recent" IS 'What was left of its support.';
COMMENT ON COLUMN "rule_log"."probability" IS 'The share of that which agreed with it.';
COMMENT ON COLUMN "rule_log"."bound" IS 'The bound of the probability that was compared with the threshold.';
COMMENT ON COLUMN "rule_log"."reason" IS 'Why it went; empty if it came.';

CREATE TABLE "diagnosis" (
    "run" INTEGER NOT NULL,
    "rule" BIGINT NOT NULL,
    "formula" VARCHAR NOT NULL,
    "target" VARCHAR NOT NULL,
    "applies_good" DOUBLE NOT NULL,
    "applies_bad" DOUBLE NOT NULL,
    "idle_good" DOUBLE NOT NULL,
    "idle_bad" DOUBLE NOT NULL,
    "error" DOUBLE NOT NULL,
    "too_general" BOOLEAN NOT NULL,
    "too_specific" BOOLEAN NOT NULL
);
COMMENT ON TABLE "diagnosis" IS 'How the groundings of each rule speak for or against the atoms of each predicate that it mentions, one row for each rule and predicate.';
COMMENT ON COLUMN "diagnosis"."run" IS 'Run.';
COMMENT ON COLUMN "diagnosis"."rule" IS 'Number of the rule in the model that was diagnosed, from 0.';
COMMENT ON COLUMN "diagnosis"."formula" IS 'The rule.';
COMMENT ON COLUMN "diagnosis"."target" IS 'The predicate whose atoms are taken for unknown, all others being evidence.';
COMMENT ON COLUMN "diagnosis"."applies_good" IS 'Pairs of a grounding and an atom of the target in it: the atom alone decides whether the grounding holds, and it does if the atom is what it is in the data.';
COMMENT ON COLUMN "diagnosis"."applies_bad" IS 'The same, and it holds if the atom is not what it is.';
COMMENT ON COLUMN "diagnosis"."idle_good" IS 'Pairs of which the grounding holds whatever the atom is, and whose literal of it is false.';
COMMENT ON COLUMN "diagnosis"."idle_bad" IS 'The same, and the literal is true: without others the grounding would speak for the truth.';
COMMENT ON COLUMN "diagnosis"."error" IS 'Standard error of the share of a bin in all four; 0 where nothing was sampled.';
COMMENT ON COLUMN "diagnosis"."too_general" IS 'True if the share of applies_bad is above the threshold: literals should be added.';
COMMENT ON COLUMN "diagnosis"."too_specific" IS 'True if the share of idle_bad is above the threshold: literals should be removed.';

CREATE TABLE "diagnosis_grounding" (
    "run" INTEGER NOT NULL,
    "rule" BIGINT NOT NULL,
    "target" VARCHAR NOT NULL,
    "bin" VARCHAR NOT NULL,
    "grounding" VARCHAR NOT NULL
);
COMMENT ON TABLE "diagnosis_grounding" IS 'A few groundings in the bins for which a rule was marked.';
COMMENT ON COLUMN "diagnosis_grounding"."run" IS 'Run.';
COMMENT ON COLUMN "diagnosis_grounding"."rule" IS 'Number of the rule in the model that was diagnosed, from 0.';
COMMENT ON COLUMN "diagnosis_grounding"."target" IS 'The predicate whose atoms are taken for unknown.';
COMMENT ON COLUMN "diagnosis_grounding"."bin" IS 'Either applies_bad or idle_bad.';
COMMENT ON COLUMN "diagnosis_grounding"."grounding" IS 'The rule with constants in place of its variables.';

CREATE TABLE "audit_atom" (
    "run" INTEGER NOT NULL,
    "target" VARCHAR NOT NULL,
    "example" VARCHAR NOT NULL,
    "arguments" VARCHAR[] NOT NULL,
    "truth" BOOLEAN,
    "part" INTEGER NOT NULL
);
COMMENT ON TABLE "audit_atom" IS 'Query atoms of a target that the folds of its newest audit test or train on.';
COMMENT ON COLUMN "audit_atom"."run" IS 'Run.';
COMMENT ON COLUMN "audit_atom"."target" IS 'The target.';
COMMENT ON COLUMN "audit_atom"."example" IS 'Name of its example.';
COMMENT ON COLUMN "audit_atom"."arguments" IS 'Its constants.';
COMMENT ON COLUMN "audit_atom"."truth" IS 'Its label; NULL if there is none.';
COMMENT ON COLUMN "audit_atom"."part" IS 'Its part, from 0: atoms of a part are on the same side in every fold.';

CREATE TABLE "audit_fold" (
    "run" INTEGER NOT NULL,
    "fold" VARCHAR NOT NULL,
    "part" INTEGER NOT NULL,
    "test" BOOLEAN NOT NULL
);
COMMENT ON TABLE "audit_fold" IS 'The parts on which each fold of an audit trains and tests.';
COMMENT ON COLUMN "audit_fold"."run" IS 'Run.';
COMMENT ON COLUMN "audit_fold"."fold" IS 'Name of the fold.';
COMMENT ON COLUMN "audit_fold"."part" IS 'Part of the data.';
COMMENT ON COLUMN "audit_fold"."test" IS 'True if the fold tests it, false if it trains on it.';

CREATE TABLE "audit_baseline" (
    "run" INTEGER NOT NULL,
    "baseline" VARCHAR NOT NULL,
    "type" VARCHAR NOT NULL,
    "atoms" BIGINT NOT NULL,
    "majority" DOUBLE NOT NULL,
    "accuracy" DOUBLE NOT NULL,
    "auc" DOUBLE
);
COMMENT ON TABLE "audit_baseline" IS 'How well labels of test atoms are predicted by nothing but the names of the constants in them.';
COMMENT ON COLUMN "audit_baseline"."run" IS 'Run.';
COMMENT ON COLUMN "audit_baseline"."baseline" IS 'What predicts: majority per constant of an argument, or Bradley-Terry.';
COMMENT ON COLUMN "audit_baseline"."type" IS 'Type of the constants.';
COMMENT ON COLUMN "audit_baseline"."atoms" IS 'Labels that were predicted, in all folds.';
COMMENT ON COLUMN "audit_baseline"."majority" IS 'Share of them that the more frequent truth value of the training atoms gets right.';
COMMENT ON COLUMN "audit_baseline"."accuracy" IS 'Share of them that the baseline gets right.';
COMMENT ON COLUMN "audit_baseline"."auc" IS 'Area under the ROC curve, the mean over the folds that test true and false atoms; NULL if none does.';

CREATE TABLE "leak" (
    "run" INTEGER NOT NULL,
    "kind" VARCHAR NOT NULL,
    "target" VARCHAR NOT NULL,
    "predicate" VARCHAR NOT NULL,
    "what" VARCHAR NOT NULL,
    "count" BIGINT NOT NULL,
    "share" DOUBLE NOT NULL,
    "severity" DOUBLE NOT NULL,
    "show_sql" VARCHAR NOT NULL
);
COMMENT ON TABLE "leak" IS 'What the newest audit of each target found.';
COMMENT ON COLUMN "leak"."run" IS 'Run.';
COMMENT ON COLUMN "leak"."kind" IS 'label copy, facts, antisymmetry, symmetry, opposite reverse, equal reverse, identity, duplicate or near duplicate.';
COMMENT ON COLUMN "leak"."target" IS 'The target that was audited.';
COMMENT ON COLUMN "leak"."predicate" IS 'The predicate that leaks; the target itself if its own atoms do.';
COMMENT ON COLUMN "leak"."what" IS 'What was found.';
COMMENT ON COLUMN "leak"."count" IS 'Rows of show_sql.';
COMMENT ON COLUMN "leak"."share" IS 'Their share of what "what" says.';
COMMENT ON COLUMN "leak"."severity" IS 'How much of the test it gives away, from 0 to 1.';
COMMENT ON COLUMN "leak"."show_sql" IS 'A query that shows it.';

CREATE TABLE "prediction" (
    "run" INTEGER NOT NULL,
    "predicate" VARCHAR NOT NULL,
    "atom" BIGINT NOT NULL,
    "example" INTEGER NOT NULL,
    "truth" BOOLEAN NOT NULL
);
COMMENT ON TABLE "prediction" IS 'Predicted worlds.';
COMMENT ON COLUMN "prediction"."run" IS 'Run.';
COMMENT ON COLUMN "prediction"."predicate" IS 'Predicate.';
COMMENT ON COLUMN "prediction"."atom" IS 'Query atom.';
COMMENT ON COLUMN "prediction"."example" IS 'Its example, by its id in the data of the run.';
COMMENT ON COLUMN "prediction"."truth" IS 'Predicted truth.';

CREATE TABLE "truth_value" (
    "run" INTEGER NOT NULL,
    "predicate" VARCHAR NOT NULL,
    "atom" BIGINT NOT NULL,
    "example" INTEGER NOT NULL,
    "value" DOUBLE NOT NULL
);
COMMENT ON TABLE "truth_value" IS 'Truth values of query atoms that were kept (predict(keep=True) of a soft model).';
COMMENT ON COLUMN "truth_value"."run" IS 'Run.';
COMMENT ON COLUMN "truth_value"."predicate" IS 'Predicate.';
COMMENT ON COLUMN "truth_value"."atom" IS 'Query atom.';
COMMENT ON COLUMN "truth_value"."example" IS 'Its example, by its id in the data of the run.';
COMMENT ON COLUMN "truth_value"."value" IS 'Predicted truth value, from 0 to 1.';

CREATE TABLE "rule_distance" (
    "run" INTEGER NOT NULL,
    "clause" BIGINT NOT NULL,
    "ground_rules" BIGINT NOT NULL,
    "decided" DOUBLE NOT NULL,
    "distance" DOUBLE NOT NULL,
    "cost" DOUBLE,
    "observed" DOUBLE
);
COMMENT ON TABLE "rule_distance" IS 'How far the ground rules of each rule of a soft model are from being satisfied, over the examples of a kept prediction. Distances are squared where the rule is.';
COMMENT ON COLUMN "rule_distance"."run" IS 'Run.';
COMMENT ON COLUMN "rule_distance"."clause" IS 'Rule, by its number in the table clause.';
COMMENT ON COLUMN "rule_distance"."ground_rules" IS 'Ground rules with a query atom that some truth values would violate.';
COMMENT ON COLUMN "rule_distance"."decided" IS 'Sum of the distances of ground rules without a query atom: that part which the data decide. 0 if the rule is hard.';
COMMENT ON COLUMN "rule_distance"."distance" IS 'Sum of the distances of all ground rules at the predicted truth values.';
COMMENT ON COLUMN "rule_distance"."cost" IS 'Weight times distance: the costs of all rules are the objective. NULL if the rule is hard.';
COMMENT ON COLUMN "rule_distance"."observed" IS 'Sum of the distances at the labels. NULL until the prediction is evaluated, and if some of its atoms have no label.';

CREATE TABLE "optimum" (
    "run" INTEGER NOT NULL,
    "status" VARCHAR NOT NULL,
    "objective" DOUBLE NOT NULL,
    "bound" DOUBLE NOT NULL,
    "tolerance" DOUBLE NOT NULL,
    "violated" BIGINT NOT NULL,
    "violation" DOUBLE NOT NULL
);
COMMENT ON TABLE "optimum" IS 'What is proved of the truth values of kept predictions of soft models; one row for each run.';
COMMENT ON COLUMN "optimum"."run" IS 'Run.';
COMMENT ON COLUMN "optimum"."status" IS 'optimal: the objective is within the tolerance of its bound, and hard rules hold; feasible: hard rules hold; unsolved: neither was reached.';
COMMENT ON COLUMN "optimum"."objective" IS 'Weighted sum of the distances of all ground rules that are not hard.';
COMMENT ON COLUMN "optimum"."bound" IS 'No truth values at which hard rules hold have a smaller objective.';
COMMENT ON COLUMN "optimum"."tolerance" IS 'The difference of the two that was to be reached.';
COMMENT ON COLUMN "optimum"."violated" IS 'Ground rules that are hard and violated by more than the options of the run allow.';
COMMENT ON COLUMN "optimum"."violation" IS 'By how much the one that is violated most is.';

CREATE TABLE "marginal" (
    "run" INTEGER NOT NULL,
    "predicate" VARCHAR NOT NULL,
    "atom" BIGINT NOT NULL,
    "example" INTEGER NOT NULL,
    "probability" DOUBLE NOT NULL,
    "error" DOUBLE NOT NULL,
    "rhat" DOUBLE NOT NULL,
    "ess" DOUBLE NOT NULL,
    "method" VARCHAR NOT NULL
);
COMMENT ON TABLE "marginal" IS 'Probabilities of query atoms that were kept (marginals(keep=True)).';
COMMENT ON COLUMN "marginal"."run" IS 'Run.';
COMMENT ON COLUMN "marginal"."predicate" IS 'Predicate.';
COMMENT ON COLUMN "marginal"."atom" IS 'Query atom.';
COMMENT ON COLUMN "marginal"."example" IS 'Its example, by its id in the data of the run.';
COMMENT ON COLUMN "marginal"."probability" IS 'That the atom is true.';
COMMENT ON COLUMN "marginal"."error" IS 'Monte Carlo standard error; 0 if exact, infinite if too few samples were drawn to tell.';
COMMENT ON COLUMN "marginal"."rhat" IS 'Split R-hat: above 1.01 the chains disagree; 1 if exact.';
COMMENT ON COLUMN "marginal"."ess" IS 'Effective sample size; infinite if exact.';
COMMENT ON COLUMN "marginal"."method" IS 'fixed, logistic, elimination or enumeration (exact), gibbs or mcsat.';

CREATE TABLE "explained" (
    "run" INTEGER NOT NULL,
    "atom" BIGINT NOT NULL,
    "example" INTEGER NOT NULL,
    "example_name" VARCHAR NOT NULL,
    "name" VARCHAR NOT NULL,
    "truth" BOOLEAN NOT NULL,
    "margin" DOUBLE NOT NULL,
    "gap" DOUBLE NOT NULL
);
COMMENT ON TABLE "explained" IS 'Atoms of kept predictions that were explained (Prediction.why).';
COMMENT ON COLUMN "explained"."run" IS 'Run.';
COMMENT ON COLUMN "explained"."atom" IS 'Query atom.';
COMMENT ON COLUMN "explained"."example" IS 'Its example, by its id in the data of the run.';
COMMENT ON COLUMN "explained"."example_name" IS 'Name of that example.';
COMMENT ON COLUMN "explained"."name" IS 'The atom with its constants.';
COMMENT ON COLUMN "explained"."truth" IS 'Predicted truth.';
COMMENT ON COLUMN "explained"."margin" IS 'How much the score of the best world falls when the atom must have the other value (log-odds); infinite if no world has it.';
COMMENT ON COLUMN "explained"."gap" IS 'The margin is off by no more than this.';

CREATE TABLE "reason" (
    "run" INTEGER NOT NULL,
    "atom" BIGINT NOT NULL,
    "side" VARCHAR NOT NULL,
    "clause" VARCHAR NOT NULL,
    "ground_clause" VARCHAR NOT NULL,
    "weight" DOUBLE,
    "times" HUGEINT NOT NULL,
    "contribution" DOUBLE NOT NULL
);
COMMENT ON TABLE "reason" IS 'The ground clauses that speak for and against the predicted truth of explained atoms.';
COMMENT ON COLUMN "reason"."run" IS 'Run.';
COMMENT ON COLUMN "reason"."atom" IS 'Query atom.';
COMMENT ON COLUMN "reason"."side" IS 'for: flipping the atom alone loses what the ground clause is worth; against: it gains it; neutral: other atoms decide.';
COMMENT ON COLUMN "reason"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "reason"."ground_clause" IS 'The ground clause with its constants.';
COMMENT ON COLUMN "reason"."weight" IS 'Weight (log-odds); NULL if hard.';
COMMENT ON COLUMN "reason"."times" IS 'Groundings with this text.';
COMMENT ON COLUMN "reason"."contribution" IS 'What flipping the atom alone loses (log-odds); infinite if hard.';

-- Orders are written out: the settings default_order and default_null_order of a connection decide what is left out.
CREATE VIEW "strongest_clauses" AS
SELECT text AS clause, weight, model, clause AS id, origin, step
FROM clause
WHERE weight IS NOT NULL AND model = (SELECT max(model) FROM model)
ORDER BY abs(weight) DESC NULLS LAST, id ASC NULLS LAST;
COMMENT ON VIEW "strongest_clauses" IS 'Weighted clauses of the newest model, the strongest first.';
COMMENT ON COLUMN "strongest_clauses"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "strongest_clauses"."weight" IS 'Weight (log-odds).';
COMMENT ON COLUMN "strongest_clauses"."model" IS 'Model.';
COMMENT ON COLUMN "strongest_clauses"."id" IS 'Id of the clause within the model.';
COMMENT ON COLUMN "strongest_clauses"."origin" IS 'What put it into the model.';
COMMENT ON COLUMN "strongest_clauses"."step" IS 'Step of the learner that added it; NULL if it was there from the start.';

CREATE VIEW "worst_predicted_examples" AS
SELECT s.run, s.example_name AS example, s.loss, s.atoms, s.correct / nullif(s.atoms, 0) AS accuracy, s.step
FROM step AS s
WHERE s.run = (SELECT max(run) FROM step)
ORDER BY s.loss DESC NULLS LAST, s.run ASC NULLS LAST, s.step ASC NULLS LAST;
COMMENT ON VIEW "worst_predicted_examples" IS 'Examples of the newest learning run by the loss of their prediction before they were learned, the worst first.';
COMMENT ON COLUMN "worst_predicted_examples"."run" IS 'Run.';
COMMENT ON COLUMN "worst_predicted_examples"."example" IS 'Name of the example.';
COMMENT ON COLUMN "worst_predicted_examples"."loss" IS 'Hamming loss: atoms predicted wrongly.';
COMMENT ON COLUMN "worst_predicted_examples"."atoms" IS 'Query atoms of the example.';
COMMENT ON COLUMN "worst_predicted_examples"."accuracy" IS 'Share of the atoms predicted rightly; NULL if it has none.';
COMMENT ON COLUMN "worst_predicted_examples"."step" IS 'Step at which it was predicted and then learned, from 0.';

CREATE VIEW "clauses_by_step" AS
SELECT model, step, text AS clause, weight, origin, clause AS id
FROM clause
WHERE step IS NOT NULL
ORDER BY model ASC NULLS LAST, step ASC NULLS LAST, id ASC NULLS LAST;
COMMENT ON VIEW "clauses_by_step" IS 'Clauses that a learner added, in order.';
COMMENT ON COLUMN "clauses_by_step"."model" IS 'Model.';
COMMENT ON COLUMN "clauses_by_step"."step" IS 'Step of the learner that added the clause.';
COMMENT ON COLUMN "clauses_by_step"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "clauses_by_step"."weight" IS 'Weight (log-odds); NULL if hard or not learned.';
COMMENT ON COLUMN "clauses_by_step"."origin" IS 'What put it into the model.';
COMMENT ON COLUMN "clauses_by_step"."id" IS 'Id of the clause within the model.';

CREATE VIEW "added_clauses" AS
SELECT a.run, a.step, c.text AS clause, c.weight, a.example_name AS example, a.atom_name AS wrong_atom, a.delta_n, a.clause AS id
FROM added_clause AS a JOIN run AS r USING (run) JOIN clause AS c ON c.model = r.model AND c.clause = a.clause
ORDER BY a.run ASC NULLS LAST, a.step ASC NULLS LAST, id ASC NULLS LAST;
COMMENT ON VIEW "added_clauses" IS 'Clauses that structure learners added, with the mistake that caused each, in order.';
COMMENT ON COLUMN "added_clauses"."run" IS 'Run.';
COMMENT ON COLUMN "added_clauses"."step" IS 'Step that added the clause, from 0.';
COMMENT ON COLUMN "added_clauses"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "added_clauses"."weight" IS 'Its weight in the learned model (log-odds).';
COMMENT ON COLUMN "added_clauses"."example" IS 'Name of the example of that step.';
COMMENT ON COLUMN "added_clauses"."wrong_atom" IS 'The true atom that was predicted false, from which the clause was found first.';
COMMENT ON COLUMN "added_clauses"."delta_n" IS 'True groundings in the observed world minus those in the predicted one, when it was added.';
COMMENT ON COLUMN "added_clauses"."id" IS 'Id of the clause within the model of the run.';

CREATE VIEW "found_clauses" AS
SELECT clause, positives, negatives, score, in_theory, atom_name AS seed, literals, candidate AS id, run
FROM candidate
WHERE run = (SELECT max(run) FROM candidate)
ORDER BY in_theory DESC NULLS LAST, score DESC NULLS LAST, positives DESC NULLS LAST, id ASC NULLS LAST;
COMMENT ON VIEW "found_clauses" IS 'Clauses that the newest run of ILP found: its theory, then the others, the best first.';
COMMENT ON COLUMN "found_clauses"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "found_clauses"."positives" IS 'Positive atoms that it covers.';
COMMENT ON COLUMN "found_clauses"."negatives" IS 'Negative atoms that it covers.';
COMMENT ON COLUMN "found_clauses"."score" IS 'Its score when it was found.';
COMMENT ON COLUMN "found_clauses"."in_theory" IS 'True if it is in the theory.';
COMMENT ON COLUMN "found_clauses"."seed" IS 'The positive atom in whose bottom clause it was found first.';
COMMENT ON COLUMN "found_clauses"."literals" IS 'Number of its literals, with the head.';
COMMENT ON COLUMN "found_clauses"."id" IS 'Number of the clause within the run.';
COMMENT ON COLUMN "found_clauses"."run" IS 'Run.';

CREATE VIEW "explanation" AS
SELECT e.name AS atom, e.example_name AS example, e.truth, e.margin, r.side, r.clause, r.ground_clause, r.weight, r.times, r.contribution, e.gap, e.run
FROM explained AS e LEFT JOIN reason AS r USING (run, atom)
WHERE e.run = (SELECT max(n.run) FROM explained AS n WHERE n.name = e.name AND n.example_name = e.example_name)
ORDER BY e.name ASC NULLS LAST, e.example ASC NULLS LAST, e.example_name ASC NULLS LAST, r.side = 'neutral' ASC NULLS LAST, r.side DESC NULLS LAST, abs(r.contribution) DESC NULLS LAST, r.clause ASC NULLS LAST, r.ground_clause ASC NULLS LAST;
COMMENT ON VIEW "explanation" IS 'The ground clauses that speak for and against atoms of kept predictions, of the newest run that explained each, the strongest first.';
COMMENT ON COLUMN "explanation"."atom" IS 'The atom with its constants.';
COMMENT ON COLUMN "explanation"."example" IS 'Name of its example.';
COMMENT ON COLUMN "explanation"."truth" IS 'Predicted truth.';
COMMENT ON COLUMN "explanation"."margin" IS 'How much the score of the best world falls when the atom must have the other value (log-odds); infinite if no world has it.';
COMMENT ON COLUMN "explanation"."side" IS 'for: flipping the atom alone loses what the ground clause is worth; against: it gains it; neutral: other atoms decide.';
COMMENT ON COLUMN "explanation"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "explanation"."ground_clause" IS 'The ground clause with its constants.';
COMMENT ON COLUMN "explanation"."weight" IS 'Weight (log-odds); NULL if hard.';
COMMENT ON COLUMN "explanation"."times" IS 'Groundings with this text.';
COMMENT ON COLUMN "explanation"."contribution" IS 'What flipping the atom alone loses (log-odds); infinite if hard.';
COMMENT ON COLUMN "explanation"."gap" IS 'The margin is off by no more than this.';
COMMENT ON COLUMN "explanation"."run" IS 'Run.';

CREATE VIEW "audit_seen" AS
SELECT DISTINCT t.run, t.part AS test, r.part AS training
FROM audit_fold AS t JOIN audit_fold AS r ON r.run = t.run AND r.fold = t.fold
WHERE t.test AND NOT r.test;
COMMENT ON VIEW "audit_seen" IS 'Pairs of parts: a fold of the audit tests the first and trains on the second.';
COMMENT ON COLUMN "audit_seen"."run" IS 'Run.';
COMMENT ON COLUMN "audit_seen"."test" IS 'The part that is tested.';
COMMENT ON COLUMN "audit_seen"."training" IS 'The part that is trained on.';

CREATE VIEW "leaks" AS
SELECT kind, predicate, what, count, share, show_sql, target, severity, run
FROM leak
ORDER BY target ASC NULLS LAST, severity DESC NULLS LAST, kind ASC NULLS LAST, predicate ASC NULLS LAST, what ASC NULLS LAST;
COMMENT ON VIEW "leaks" IS 'What the newest audit of each target found, what gives away most first.';
COMMENT ON COLUMN "leaks"."kind" IS 'label copy, facts, antisymmetry, symmetry, opposite reverse, equal reverse, identity, duplicate or near duplicate.';
COMMENT ON COLUMN "leaks"."predicate" IS 'The predicate that leaks; the target itself if its own atoms do.';
COMMENT ON COLUMN "leaks"."what" IS 'What was found.';
COMMENT ON COLUMN "leaks"."count" IS 'Rows of show_sql.';
COMMENT ON COLUMN "leaks"."share" IS 'Their share of what "what" says.';
COMMENT ON COLUMN "leaks"."show_sql" IS 'A query that shows it.';
COMMENT ON COLUMN "leaks"."target" IS 'The target that was audited.';
COMMENT ON COLUMN "leaks"."severity" IS 'How much of the test it gives away, from 0 to 1.';
COMMENT ON COLUMN "leaks"."run" IS 'Run.';
