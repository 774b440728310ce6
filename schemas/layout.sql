-- Layout 10: what the catalog, the models and the runs keep in the database.
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
    "rule" INTEGER,
    "key" VARCHAR
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
COMMENT ON COLUMN "clause"."key" IS 'The clause with its variables renamed: alike for clauses that differ in their names alone. NULL of soft models and earlier versions.';

CREATE TABLE "named_model" (
    "name" VARCHAR NOT NULL,
    "model" INTEGER NOT NULL,
    "run" INTEGER,
    "created" TIMESTAMP NOT NULL
);
COMMENT ON TABLE "named_model" IS 'Models under names: those of CREATE MODEL in scripts, and of db.models.keep.';
COMMENT ON COLUMN "named_model"."name" IS 'Name; two that differ in case alone are one.';
COMMENT ON COLUMN "named_model"."model" IS 'Model that has the name now.';
COMMENT ON COLUMN "named_model"."run" IS 'Run that learned it; NULL if none did.';
COMMENT ON COLUMN "named_model"."created" IS 'When it was named, in UTC.';

CREATE TABLE "script_log" (
    "script" VARCHAR NOT NULL,
    "line" INTEGER NOT NULL,
    "kind" VARCHAR NOT NULL,
    "name" VARCHAR NOT NULL,
    "text" VARCHAR NOT NULL,
    "variables" VARCHAR NOT NULL,
    "inputs" VARCHAR NOT NULL,
    "output" VARCHAR,
    "result" VARCHAR NOT NULL,
    "seconds" DOUBLE NOT NULL,
    "finished" TIMESTAMP NOT NULL
);
COMMENT ON TABLE "script_log" IS 'Statements of scripts that have finished and need not run again (sqlrl run --resume): CREATE MODEL, CREATE PREDICATE and CREATE TABLE.';
COMMENT ON COLUMN "script_log"."script" IS 'The file, or a name for the text.';
COMMENT ON COLUMN "script_log"."line" IS 'Line of the script in which the statement begins, from 1.';
COMMENT ON COLUMN "script_log"."kind" IS 'model, predicate or table.';
COMMENT ON COLUMN "script_log"."name" IS 'What it made.';
COMMENT ON COLUMN "script_log"."text" IS 'The statement.';
COMMENT ON COLUMN "script_log"."variables" IS 'The values of its $variables, as JSON.';
COMMENT ON COLUMN "script_log"."inputs" IS 'Fingerprint of the tables, files, models and facts that it read.';
COMMENT ON COLUMN "script_log"."output" IS 'Fingerprint of what it made: if that has changed, the statement runs again.';
COMMENT ON COLUMN "script_log"."result" IS 'What it printed.';
COMMENT ON COLUMN "script_log"."seconds" IS 'How long it took.';
COMMENT ON COLUMN "script_log"."finished" IS 'When it had finished, in UTC.';

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
    "delta_n" HUGEINT,
    "n_expected" DOUBLE
);
COMMENT ON TABLE "clause_statistics" IS 'Exact counts of each clause over the examples of a run: of a learner, of predict(keep=True) or of count(expected=True, keep=True). What a run does not know is NULL.';
COMMENT ON COLUMN "clause_statistics"."run" IS 'Run.';
COMMENT ON COLUMN "clause_statistics"."clause" IS 'Clause.';
COMMENT ON COLUMN "clause_statistics"."groundings" IS 'Groundings: the product of the domain sizes. A hard formula with quantifiers inside is counted by the clauses of its normal form: a FORALL inside gives them grounding variables.';
COMMENT ON COLUMN "clause_statistics"."open" IS 'Groundings that the evidence leaves open: groundings minus the two below. These three are NULL for a formula of several ground clauses (P(x) <=> Q(x)), of which the evidence may decide some.';
COMMENT ON COLUMN "clause_statistics"."satisfied_by_evidence" IS 'Groundings that are true whatever the query atoms are.';
COMMENT ON COLUMN "clause_statistics"."violated_by_evidence" IS 'Groundings that are false whatever the query atoms are.';
COMMENT ON COLUMN "clause_statistics"."n_observed" IS 'True groundings in the observed world (the labels). Of a hard formula with quantifiers inside: groundings minus the ground clauses of its normal form that are violated, which may be below 0. NULL for a prediction until it is evaluated, and if some of its atoms have no label.';
COMMENT ON COLUMN "clause_statistics"."n_predicted" IS 'True groundings in the predicted world, counted as n_observed. NULL for a learner, which predicts each example with other weights.';
COMMENT ON COLUMN "clause_statistics"."delta_n" IS 'n of the observed world minus n of the predicted one. Of a learner summed over its steps, each predicted with the weights before it. NULL where a prediction has no n_observed.';
COMMENT ON COLUMN "clause_statistics"."n_expected" IS 'True groundings in the mean over all worlds, each as probable as the weights say given the evidence: the expected count E[n], exact up to rounding. Of learners those that know it have it, over the training examples under the learned weights.';

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
    "atom_name" VARCHAR NOT NULL,
    "p_value" DOUBLE
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
COMMENT ON COLUMN "candidate"."p_value" IS 'The chance that a clause covers as many positive atoms of the part that was not searched, beyond those of clauses kept before it, times the number of clauses that were tested; NULL if it was not tested.';

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

CREATE TABLE "rule_diagnosis" (
    "run" INTEGER NOT NULL,
    "rules" VARCHAR NOT NULL,
    "place" BIGINT NOT NULL,
    "rule" BIGINT NOT NULL,
    "line" BIGINT,
    "text" VARCHAR NOT NULL,
    "weight" DOUBLE,
    "hard" BOOLEAN NOT NULL,
    "applies" HUGEINT,
    "violations" HUGEINT,
    "confidence" DOUBLE,
    "confidence_low" DOUBLE,
    "confidence_high" DOUBLE,
    "base_rate" DOUBLE,
    "lift" DOUBLE,
    "pca_confidence" DOUBLE,
    "groundings" HUGEINT,
    "verdict" VARCHAR NOT NULL,
    "implied_by" BIGINT[] NOT NULL,
    "contradicts" BIGINT[] NOT NULL,
    "problem" VARCHAR,
    "violating_sql" VARCHAR
);
COMMENT ON TABLE "rule_diagnosis" IS 'What the newest diagnosis of each list of rules found, a row for each rule: diagnose(model) fills it.';
COMMENT ON COLUMN "rule_diagnosis"."run" IS 'Run.';
COMMENT ON COLUMN "rule_diagnosis"."rules" IS 'Hash of the rules that were diagnosed together; a later diagnosis of the same ones takes the place of an earlier one.';
COMMENT ON COLUMN "rule_diagnosis"."place" IS 'Place in the result, from 0: hard rules that are violated first, then by the share of cases in which they are violated, last those that were not counted.';
COMMENT ON COLUMN "rule_diagnosis"."rule" IS 'Number of the rule in the model or the text, from 0; the clauses of a template have one number.';
COMMENT ON COLUMN "rule_diagnosis"."line" IS 'Its line in the text; NULL if it has none.';
COMMENT ON COLUMN "rule_diagnosis"."text" IS 'The rule.';
COMMENT ON COLUMN "rule_diagnosis"."weight" IS 'Weight (log-odds); NULL if hard or not learned.';
COMMENT ON COLUMN "rule_diagnosis"."hard" IS 'True if it must hold in every grounding.';
COMMENT ON COLUMN "rule_diagnosis"."applies" IS 'Bindings of the variables of body and head that satisfy the body; NULL of what is no implication.';
COMMENT ON COLUMN "rule_diagnosis"."violations" IS 'Bindings that violate the rule: the rows of violating_sql.';
COMMENT ON COLUMN "rule_diagnosis"."confidence" IS 'Share of the bindings that satisfy the body which satisfy the head.';
COMMENT ON COLUMN "rule_diagnosis"."confidence_low" IS 'Lower end of the Wilson interval of 95 % of the confidence.';
COMMENT ON COLUMN "rule_diagnosis"."confidence_high" IS 'Its upper end.';
COMMENT ON COLUMN "rule_diagnosis"."base_rate" IS 'Share of the bindings of the head alone that satisfy it.';
COMMENT ON COLUMN "rule_diagnosis"."lift" IS 'Confidence divided by the base rate.';
COMMENT ON COLUMN "rule_diagnosis"."pca_confidence" IS 'Confidence over those bindings of whose head''s other arguments some fact is known, where the predicate of the head is to be predicted and has several arguments; else NULL.';
COMMENT ON COLUMN "rule_diagnosis"."groundings" IS 'Groundings: the product of the domain sizes.';
COMMENT ON COLUMN "rule_diagnosis"."verdict" IS 'All of that in words.';
COMMENT ON COLUMN "rule_diagnosis"."implied_by" IS 'Numbers of rules that imply it, since they subsume it.';
COMMENT ON COLUMN "rule_diagnosis"."contradicts" IS 'Numbers of rules with the same body and the negation of its head.';
COMMENT ON COLUMN "rule_diagnosis"."problem" IS 'Why it was not counted; NULL if it was.';
COMMENT ON COLUMN "rule_diagnosis"."violating_sql" IS 'A query of the bindings that violate it, by name.';

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
COMMENT ON TABLE "marginal" IS 'Probabilities of query atoms that were kept (probabilities(keep=True)).';
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

CREATE TABLE "outcome" (
    "run" INTEGER NOT NULL,
    "predicate" VARCHAR NOT NULL,
    "atom" BIGINT,
    "name" VARCHAR,
    "example" INTEGER NOT NULL,
    "example_name" VARCHAR NOT NULL,
    "label" BOOLEAN NOT NULL,
    "predicted" BOOLEAN NOT NULL,
    "probability" DOUBLE,
    "log_odds" DOUBLE,
    "block" BIGINT,
    "constant" VARCHAR
);
COMMENT ON TABLE "outcome" IS 'Labels beside what was predicted, a row for each labelled query atom: filled when a prediction or probabilities that were kept (keep=True) are evaluated, anew each time.';
COMMENT ON COLUMN "outcome"."run" IS 'Run that predicted.';
COMMENT ON COLUMN "outcome"."predicate" IS 'Predicate.';
COMMENT ON COLUMN "outcome"."atom" IS 'Query atom; NULL for a true label outside the scope, which has none and counts as missed.';
COMMENT ON COLUMN "outcome"."name" IS 'The atom with its constants; NULL outside the scope.';
COMMENT ON COLUMN "outcome"."example" IS 'Its example, by its id in the data of the run.';
COMMENT ON COLUMN "outcome"."example_name" IS 'Name of that example.';
COMMENT ON COLUMN "outcome"."label" IS 'The label; of a soft model whether it reaches the threshold.';
COMMENT ON COLUMN "outcome"."predicted" IS 'Predicted truth; of probabilities whether they are above one half, of truth values of a soft model whether they reach the threshold of evaluate.';
COMMENT ON COLUMN "outcome"."probability" IS 'That the atom is true; NULL of worlds and truth values.';
COMMENT ON COLUMN "outcome"."log_odds" IS 'What the weighted clauses and soft evidence say for the predicted truth, all other atoms being as predicted; hard clauses and blocks are left out. NULL for probabilities, soft models, cutting planes, and where helper atoms of quantifiers have a say.';
COMMENT ON COLUMN "outcome"."block" IS 'Number, within run and predicate, of the atoms of which at most one is true; NULL if the atom is in no block.';
COMMENT ON COLUMN "outcome"."constant" IS 'Its constant at the argument that the block ranges over (several with commas); NULL if the predicate has no blocks.';

CREATE TABLE "support" (
    "run" INTEGER NOT NULL,
    "clause" BIGINT NOT NULL,
    "for_right" BIGINT,
    "for_wrong" BIGINT,
    "against_right" BIGINT,
    "against_wrong" BIGINT
);
COMMENT ON TABLE "support" IS 'For how many atoms each clause speaks for or against what was predicted: filled when a kept prediction is evaluated. It speaks for a value if its weight times its true groundings would fall, were the atom alone the other way round. Predictions by cutting planes have no rows: predict with method="full".';
COMMENT ON COLUMN "support"."run" IS 'Run that predicted.';
COMMENT ON COLUMN "support"."clause" IS 'Clause.';
COMMENT ON COLUMN "support"."for_right" IS 'Labelled atoms predicted rightly for whose value it speaks. All four are NULL for a formula with helper atoms (quantifiers over several open literals).';
COMMENT ON COLUMN "support"."for_wrong" IS 'Atoms predicted wrongly for whose predicted value it speaks.';
COMMENT ON COLUMN "support"."against_right" IS 'Atoms predicted rightly against whose value it speaks.';
COMMENT ON COLUMN "support"."against_wrong" IS 'Atoms predicted wrongly against whose predicted value it speaks.';

CREATE TABLE "overlap" (
    "run" INTEGER NOT NULL,
    "first" VARCHAR NOT NULL,
    "second" VARCHAR NOT NULL,
    "shared" BIGINT NOT NULL,
    "first_ground" BIGINT NOT NULL,
    "second_ground" BIGINT NOT NULL,
    "shared_atoms" BIGINT NOT NULL,
    "first_atoms" BIGINT NOT NULL,
    "second_atoms" BIGINT NOT NULL
);
COMMENT ON TABLE "overlap" IS 'Pairs of clauses that share ground clauses: filled by diagnose(model, kind="overlap"). A ground clause is the set of its literals over query atoms, as the evidence leaves it open; one with a single literal is its atom, whichever sign.';
COMMENT ON COLUMN "overlap"."run" IS 'Run.';
COMMENT ON COLUMN "overlap"."first" IS 'A clause as text.';
COMMENT ON COLUMN "overlap"."second" IS 'Another clause.';
COMMENT ON COLUMN "overlap"."shared" IS 'Distinct ground clauses that both have.';
COMMENT ON COLUMN "overlap"."first_ground" IS 'Distinct ground clauses of the first.';
COMMENT ON COLUMN "overlap"."second_ground" IS 'Distinct ground clauses of the second.';
COMMENT ON COLUMN "overlap"."shared_atoms" IS 'Query atoms that both mention.';
COMMENT ON COLUMN "overlap"."first_atoms" IS 'Query atoms that the first mentions.';
COMMENT ON COLUMN "overlap"."second_atoms" IS 'Query atoms that the second mentions.';

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
WITH several AS (SELECT run, count(DISTINCT example) > 1 AS apart FROM outcome GROUP BY run)
SELECT w.run, w.example, w.loss, w.atoms, w.accuracy, w.step, w.atom, w.log_odds, w.part
FROM (
    SELECT s.run, s.example_name AS example, s.loss, s.atoms, CAST(s.correct AS DOUBLE) / nullif(s.atoms, 0) AS accuracy, s.step, CAST(NULL AS VARCHAR) AS atom, CAST(NULL AS DOUBLE) AS log_odds, 'training' AS part
    FROM step AS s
    UNION ALL
    SELECT o.run, any_value(o.example_name), CAST(count(*) FILTER (WHERE o.label <> o.predicted) AS DOUBLE), count(*), CAST(count(*) FILTER (WHERE o.label = o.predicted) AS DOUBLE) / count(*), NULL, NULL, NULL, 'prediction'
    FROM outcome AS o JOIN several AS v ON v.run = o.run AND v.apart
    GROUP BY o.run, o.example
    UNION ALL
    SELECT o.run, o.example_name, CASE WHEN o.probability IS NULL THEN CASE WHEN o.label = o.predicted THEN 0.0 ELSE 1.0 END WHEN o.label THEN 1 - o.probability ELSE o.probability END, 1, CASE WHEN o.label = o.predicted THEN 1.0 ELSE 0.0 END, NULL, o.name, o.log_odds, 'prediction'
    FROM outcome AS o JOIN several AS v ON v.run = o.run AND NOT v.apart
) AS w
ORDER BY w.run DESC NULLS LAST, w.loss DESC NULLS LAST, w.log_odds DESC NULLS LAST, w.step ASC NULLS LAST, w.example ASC NULLS LAST, w.atom ASC NULLS LAST;
COMMENT ON VIEW "worst_predicted_examples" IS 'Examples of each run, the newest run first and its worst examples first: of a learning run predicted before they were learned, of a kept prediction that was evaluated as predicted. Where all data of that are one example, a row for each atom.';
COMMENT ON COLUMN "worst_predicted_examples"."run" IS 'Run that learned, or predicted.';
COMMENT ON COLUMN "worst_predicted_examples"."example" IS 'Name of the example.';
COMMENT ON COLUMN "worst_predicted_examples"."loss" IS 'Hamming loss: atoms predicted wrongly. Of a single atom with a probability, one minus the probability of its label.';
COMMENT ON COLUMN "worst_predicted_examples"."atoms" IS 'Query atoms of the example, of a prediction those with a label.';
COMMENT ON COLUMN "worst_predicted_examples"."accuracy" IS 'Share of the atoms predicted rightly; NULL if it has none.';
COMMENT ON COLUMN "worst_predicted_examples"."step" IS 'Step at which it was predicted and then learned, from 0; NULL for a prediction.';
COMMENT ON COLUMN "worst_predicted_examples"."atom" IS 'The atom with its constants, where all data are one example; NULL otherwise.';
COMMENT ON COLUMN "worst_predicted_examples"."log_odds" IS 'What clauses say for the predicted truth of that atom, as in the table outcome: among atoms predicted wrongly the surest come first.';
COMMENT ON COLUMN "worst_predicted_examples"."part" IS 'training: the step of a learning run that predicted the example before it learned it; prediction: an example of a kept prediction.';

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
SELECT clause, positives, negatives, score, p_value, in_theory, atom_name AS seed, literals, candidate AS id, run
FROM candidate
WHERE run = (SELECT max(run) FROM candidate)
ORDER BY in_theory DESC NULLS LAST, score DESC NULLS LAST, positives DESC NULLS LAST, id ASC NULLS LAST;
COMMENT ON VIEW "found_clauses" IS 'Clauses that the newest run of ILP found: its theory, then the others, the best first.';
COMMENT ON COLUMN "found_clauses"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "found_clauses"."positives" IS 'Positive atoms that it covers.';
COMMENT ON COLUMN "found_clauses"."negatives" IS 'Negative atoms that it covers.';
COMMENT ON COLUMN "found_clauses"."score" IS 'Its score when it was found.';
COMMENT ON COLUMN "found_clauses"."p_value" IS 'The chance that a clause covers as many positive atoms of the part that was not searched, beyond those of clauses kept before it, times the number of clauses that were tested; NULL if it was not tested.';
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

CREATE VIEW "clause_history" AS
SELECT h.run, c.text AS clause, h.step, h.delta_n, h.weight, lag(h.weight) OVER (PARTITION BY h.run, h.clause ORDER BY h.step ASC NULLS LAST) AS weight_before, h.clause AS id
FROM weight_history AS h JOIN run AS r USING (run) LEFT JOIN clause AS c ON c.model = r.model AND c.clause = h.clause
ORDER BY h.run ASC NULLS LAST, h.clause ASC NULLS LAST, h.step ASC NULLS LAST;
COMMENT ON VIEW "clause_history" IS 'What the steps of learning runs changed, clause by clause: filled by OSL, and by other online learners with record_history=True.';
COMMENT ON COLUMN "clause_history"."run" IS 'Run.';
COMMENT ON COLUMN "clause_history"."clause" IS 'The clause as text; NULL until the run is done.';
COMMENT ON COLUMN "clause_history"."step" IS 'Step, from 0.';
COMMENT ON COLUMN "clause_history"."delta_n" IS 'True groundings in the observed world minus those in the predicted one, at this step.';
COMMENT ON COLUMN "clause_history"."weight" IS 'Weight after the step (log-odds, not averaged).';
COMMENT ON COLUMN "clause_history"."weight_before" IS 'Weight after the last step before it that has a row; NULL at the first.';
COMMENT ON COLUMN "clause_history"."id" IS 'Id of the clause within the model of the run.';

CREATE VIEW "learning_curve" AS
SELECT c.run, r.learner, c.unit, c.position, c.example, c.loss, c.accuracy, c.running_accuracy, c.recent_accuracy, c.objective, c.bound, c.optimality, c.errors
FROM (
    SELECT s.run, 'step' AS unit, s.step AS position, s.example_name AS example, s.loss, CAST(s.correct AS DOUBLE) / nullif(s.atoms, 0) AS accuracy,
        CAST(sum(s.correct) OVER sofar AS DOUBLE) / nullif(sum(s.atoms) OVER sofar, 0) AS running_accuracy,
        CAST(sum(s.correct) OVER recent AS DOUBLE) / nullif(sum(s.atoms) OVER recent, 0) AS recent_accuracy,
        CAST(NULL AS DOUBLE) AS objective, CAST(NULL AS DOUBLE) AS bound, CAST(NULL AS DOUBLE) AS optimality, CAST(NULL AS BIGINT) AS errors
    FROM step AS s
    WINDOW sofar AS (PARTITION BY s.run ORDER BY s.step ASC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        recent AS (PARTITION BY s.run ORDER BY s.step ASC NULLS LAST ROWS BETWEEN 99 PRECEDING AND CURRENT ROW)
    UNION ALL
    SELECT i.run, 'iteration', i.iteration, NULL, NULL, NULL, NULL, NULL, i.objective, i.bound, i.optimality, i.errors
    FROM iteration AS i
) AS c JOIN run AS r USING (run)
ORDER BY c.run ASC NULLS LAST, c.unit DESC NULLS LAST, c.position ASC NULLS LAST;
COMMENT ON VIEW "learning_curve" IS 'How learning went on: each example predicted before it is learned (filled by online learners), and the iterations of batch learners, of which each fills what it has.';
COMMENT ON COLUMN "learning_curve"."run" IS 'Run.';
COMMENT ON COLUMN "learning_curve"."learner" IS 'Name of the learner.';
COMMENT ON COLUMN "learning_curve"."unit" IS 'step of an online learner, or iteration of a batch learner.';
COMMENT ON COLUMN "learning_curve"."position" IS 'Number of the step or iteration.';
COMMENT ON COLUMN "learning_curve"."example" IS 'Name of the example of a step.';
COMMENT ON COLUMN "learning_curve"."loss" IS 'Hamming loss of a step: atoms predicted wrongly.';
COMMENT ON COLUMN "learning_curve"."accuracy" IS 'Share of the atoms of a step predicted rightly; NULL if it has none.';
COMMENT ON COLUMN "learning_curve"."running_accuracy" IS 'The same over all steps so far.';
COMMENT ON COLUMN "learning_curve"."recent_accuracy" IS 'The same over the last 100 steps.';
COMMENT ON COLUMN "learning_curve"."objective" IS 'What an iteration maximises or minimises, as the parameters of the run say, penalty included.';
COMMENT ON COLUMN "learning_curve"."bound" IS 'Bound on the optimal objective.';
COMMENT ON COLUMN "learning_curve"."optimality" IS 'Largest violation of the condition of optimality: what is left to be done.';
COMMENT ON COLUMN "learning_curve"."errors" IS 'Atoms that an iteration predicts wrongly.';

CREATE VIEW "confusion" AS
SELECT c.run, c.predicate, c.constant, c.true_positives, c.false_positives, c.false_negatives, c.true_negatives,
    CAST(c.true_positives AS DOUBLE) / nullif(c.true_positives + c.false_positives, 0) AS precision,
    CAST(c.true_positives AS DOUBLE) / nullif(c.true_positives + c.false_negatives, 0) AS recall,
    2 * CAST(c.true_positives AS DOUBLE) / nullif(2 * c.true_positives + c.false_positives + c.false_negatives, 0) AS f1
FROM (
    SELECT o.run, o.predicate, CAST(NULL AS VARCHAR) AS constant,
        count(*) FILTER (WHERE o.label AND o.predicted) AS true_positives, count(*) FILTER (WHERE NOT o.label AND o.predicted) AS false_positives,
        count(*) FILTER (WHERE o.label AND NOT o.predicted) AS false_negatives, count(*) FILTER (WHERE NOT o.label AND NOT o.predicted) AS true_negatives
    FROM outcome AS o
    GROUP BY o.run, o.predicate
    UNION ALL
    SELECT o.run, o.predicate, o.constant,
        count(*) FILTER (WHERE o.label AND o.predicted), count(*) FILTER (WHERE NOT o.label AND o.predicted),
        count(*) FILTER (WHERE o.label AND NOT o.predicted), count(*) FILTER (WHERE NOT o.label AND NOT o.predicted)
    FROM outcome AS o
    WHERE o.constant IS NOT NULL
    GROUP BY o.run, o.predicate, o.constant
) AS c
ORDER BY c.run ASC NULLS LAST, c.predicate ASC NULLS LAST, c.constant ASC NULLS FIRST;
COMMENT ON VIEW "confusion" IS 'Atoms predicted rightly and wrongly, by predicate, and where it has blocks by the constant that a block chooses: filled when a kept prediction, or kept probabilities, are evaluated.';
COMMENT ON COLUMN "confusion"."run" IS 'Run that predicted.';
COMMENT ON COLUMN "confusion"."predicate" IS 'Predicate.';
COMMENT ON COLUMN "confusion"."constant" IS 'Constant at the argument that blocks range over; NULL for all atoms of the predicate, also true labels outside its scope.';
COMMENT ON COLUMN "confusion"."true_positives" IS 'True atoms predicted true.';
COMMENT ON COLUMN "confusion"."false_positives" IS 'False atoms predicted true.';
COMMENT ON COLUMN "confusion"."false_negatives" IS 'True atoms predicted false.';
COMMENT ON COLUMN "confusion"."true_negatives" IS 'False atoms predicted false.';
COMMENT ON COLUMN "confusion"."precision" IS 'Share of true atoms among those predicted true; NULL if there are none.';
COMMENT ON COLUMN "confusion"."recall" IS 'Share of atoms predicted true among the true ones; NULL if there are none.';
COMMENT ON COLUMN "confusion"."f1" IS 'Harmonic mean of the two; NULL if no atom is true or predicted true.';

CREATE VIEW "block_confusion" AS
SELECT b.run, b.predicate, b.label, b.predicted, count(*) AS blocks
FROM (
    SELECT o.run, o.predicate, o.block, string_agg(o.constant, ', ' ORDER BY o.constant ASC NULLS LAST) FILTER (WHERE o.label) AS label,
        string_agg(o.constant, ', ' ORDER BY o.constant ASC NULLS LAST) FILTER (WHERE o.predicted) AS predicted
    FROM outcome AS o
    WHERE o.block IS NOT NULL
    GROUP BY o.run, o.predicate, o.block
) AS b
GROUP BY b.run, b.predicate, b.label, b.predicted
ORDER BY b.run ASC NULLS LAST, b.predicate ASC NULLS LAST, blocks DESC NULLS LAST, b.label ASC NULLS LAST, b.predicted ASC NULLS LAST;
COMMENT ON VIEW "block_confusion" IS 'Which constant was true in a block, and which was predicted, such as the fields of positions; the commonest pairs first: filled when a kept prediction is evaluated.';
COMMENT ON COLUMN "block_confusion"."run" IS 'Run that predicted.';
COMMENT ON COLUMN "block_confusion"."predicate" IS 'Predicate.';
COMMENT ON COLUMN "block_confusion"."label" IS 'Constant of the true label of the block; several with commas, NULL if there is none.';
COMMENT ON COLUMN "block_confusion"."predicted" IS 'Constant of the atom predicted true; NULL if there is none.';
COMMENT ON COLUMN "block_confusion"."blocks" IS 'Number of blocks.';

CREATE VIEW "calibration" AS
SELECT b.run, b.predicate, CAST(b.bin AS DOUBLE) / 10 AS above, CAST(b.bin + 1 AS DOUBLE) / 10 AS up_to, count(*) AS atoms, count(*) FILTER (WHERE b.label) AS true_atoms,
    CAST(sum(b.exact) AS DOUBLE) / count(*) AS probability, CAST(count(*) FILTER (WHERE b.label) AS DOUBLE) / count(*) AS share
FROM (
    SELECT o.run, o.predicate, o.label, CAST(o.probability AS DECIMAL(19, 18)) AS exact,
        (SELECT count(*) FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS edges(k) WHERE o.probability > CAST(k AS DOUBLE) / 10) AS bin
    FROM outcome AS o
    WHERE o.probability IS NOT NULL
) AS b
GROUP BY b.run, b.predicate, b.bin
ORDER BY b.run ASC NULLS LAST, b.predicate ASC NULLS LAST, b.bin ASC NULLS LAST;
COMMENT ON VIEW "calibration" IS 'Probabilities beside the share of true atoms, in ten bins of equal width as evaluate has them; empty bins are left out: filled when probabilities(keep=True) are evaluated.';
COMMENT ON COLUMN "calibration"."run" IS 'Run that found the probabilities.';
COMMENT ON COLUMN "calibration"."predicate" IS 'Predicate.';
COMMENT ON COLUMN "calibration"."above" IS 'The bin has probabilities above this; the first one also 0.';
COMMENT ON COLUMN "calibration"."up_to" IS 'And up to this.';
COMMENT ON COLUMN "calibration"."atoms" IS 'Labelled atoms in the bin.';
COMMENT ON COLUMN "calibration"."true_atoms" IS 'Those of them that are true.';
COMMENT ON COLUMN "calibration"."probability" IS 'Mean of their probabilities.';
COMMENT ON COLUMN "calibration"."share" IS 'Share of the true ones: of calibrated probabilities about their mean.';

CREATE VIEW "clause_support" AS
SELECT s.run, c.text AS clause, c.weight, s.for_right, s.for_wrong, s.against_right, s.against_wrong,
    CAST(s.for_right + s.against_wrong AS DOUBLE) / nullif(s.for_right + s.for_wrong + s.against_right + s.against_wrong, 0) AS share_for_label, s.clause AS id
FROM support AS s JOIN run AS r USING (run) JOIN clause AS c ON c.model = r.model AND c.clause = s.clause
ORDER BY s.run ASC NULLS LAST, s.for_wrong DESC NULLS LAST, s.clause ASC NULLS LAST;
COMMENT ON VIEW "clause_support" IS 'How often each clause speaks for right and for wrong predictions, those behind most wrong ones first: filled when a kept prediction is evaluated (not of cutting planes: predict with method="full").';
COMMENT ON COLUMN "clause_support"."run" IS 'Run that predicted.';
COMMENT ON COLUMN "clause_support"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "clause_support"."weight" IS 'Weight (log-odds); NULL if hard.';
COMMENT ON COLUMN "clause_support"."for_right" IS 'Atoms predicted rightly for whose value it speaks: with the other value of that atom alone, the clause would be worth less.';
COMMENT ON COLUMN "clause_support"."for_wrong" IS 'Atoms predicted wrongly for whose predicted value it speaks.';
COMMENT ON COLUMN "clause_support"."against_right" IS 'Atoms predicted rightly against whose value it speaks.';
COMMENT ON COLUMN "clause_support"."against_wrong" IS 'Atoms predicted wrongly against whose predicted value it speaks.';
COMMENT ON COLUMN "clause_support"."share_for_label" IS 'Share of the four in which it speaks for the label; NULL if it says nothing.';
COMMENT ON COLUMN "clause_support"."id" IS 'Id of the clause within the model of the run.';

CREATE VIEW "count_differences" AS
SELECT s.run, c.text AS clause, c.weight, s.n_observed, s.n_expected, CAST(s.n_observed AS DOUBLE) - s.n_expected AS difference, s.groundings, s.clause AS id
FROM clause_statistics AS s JOIN run AS r USING (run) JOIN clause AS c ON c.model = r.model AND c.clause = s.clause
WHERE s.n_observed IS NOT NULL AND s.n_expected IS NOT NULL
ORDER BY s.run DESC NULLS LAST, abs(difference) DESC NULLS LAST, s.clause ASC NULLS LAST;
COMMENT ON VIEW "count_differences" IS 'The clauses whose observed and expected counts differ most, the newest run first: filled by count(model, expected=True, keep=True), and by learners that know what they expect.';
COMMENT ON COLUMN "count_differences"."run" IS 'Run.';
COMMENT ON COLUMN "count_differences"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "count_differences"."weight" IS 'Weight (log-odds); NULL if hard.';
COMMENT ON COLUMN "count_differences"."n_observed" IS 'True groundings in the observed world (the labels).';
COMMENT ON COLUMN "count_differences"."n_expected" IS 'True groundings in the mean over all worlds, each as probable as the weights say.';
COMMENT ON COLUMN "count_differences"."difference" IS 'Observed minus expected count: the gradient of the log-likelihood by the weight. Above 0, the labels would be more probable with a greater weight.';
COMMENT ON COLUMN "count_differences"."groundings" IS 'Groundings: the product of the domain sizes.';
COMMENT ON COLUMN "count_differences"."id" IS 'Id of the clause within the model of the run.';

CREATE VIEW "clause_overlap" AS
SELECT o.run, o.first, o.second, o.shared,
    CAST(o.shared AS DOUBLE) / (o.first_ground + o.second_ground - o.shared) AS share, CAST(o.shared AS DOUBLE) / o.first_ground AS share_of_first, CAST(o.shared AS DOUBLE) / o.second_ground AS share_of_second,
    CAST(o.shared_atoms AS DOUBLE) / nullif(o.first_atoms + o.second_atoms - o.shared_atoms, 0) AS atom_share
FROM overlap AS o
ORDER BY o.run ASC NULLS LAST, share DESC NULLS LAST, o.shared DESC NULLS LAST, o.first ASC NULLS LAST, o.second ASC NULLS LAST;
COMMENT ON VIEW "clause_overlap" IS 'Pairs of clauses that say the same of the same atoms, those with most in common first: filled by diagnose(model, kind="overlap").';
COMMENT ON COLUMN "clause_overlap"."run" IS 'Run.';
COMMENT ON COLUMN "clause_overlap"."first" IS 'A clause as text.';
COMMENT ON COLUMN "clause_overlap"."second" IS 'Another clause.';
COMMENT ON COLUMN "clause_overlap"."shared" IS 'Distinct ground clauses that both have, as the evidence leaves them open; of single literals the sign does not matter.';
COMMENT ON COLUMN "clause_overlap"."share" IS 'Share of these in all that one of them has; 1 if they have the same.';
COMMENT ON COLUMN "clause_overlap"."share_of_first" IS 'Share of these in those of the first.';
COMMENT ON COLUMN "clause_overlap"."share_of_second" IS 'Share of these in those of the second.';
COMMENT ON COLUMN "clause_overlap"."atom_share" IS 'Query atoms that both mention, as a share of those that one of them does.';

CREATE VIEW "rule_quality" AS
SELECT d.rule, d.line, d.text, d.weight, d.hard, d.applies, d.violations, d.confidence, d.confidence_low, d.confidence_high, d.base_rate, d.lift, d.pca_confidence, d.groundings, d.verdict, d.implied_by, d.contradicts, d.problem, d.violating_sql, d.run
FROM rule_diagnosis AS d
ORDER BY d.run DESC NULLS LAST, d.place ASC NULLS LAST;
COMMENT ON VIEW "rule_quality" IS 'How good rules are on the data, the worst first, and those diagnosed last before others: filled by diagnose(model).';
COMMENT ON COLUMN "rule_quality"."rule" IS 'Number of the rule in the model or the text, from 0; the clauses of a template have one number.';
COMMENT ON COLUMN "rule_quality"."line" IS 'Its line in the text; NULL if it has none.';
COMMENT ON COLUMN "rule_quality"."text" IS 'The rule.';
COMMENT ON COLUMN "rule_quality"."weight" IS 'Weight (log-odds); NULL if hard or not learned.';
COMMENT ON COLUMN "rule_quality"."hard" IS 'True if it must hold in every grounding.';
COMMENT ON COLUMN "rule_quality"."applies" IS 'Bindings of the variables of body and head that satisfy the body; NULL of what is no implication.';
COMMENT ON COLUMN "rule_quality"."violations" IS 'Bindings that violate the rule: the rows of violating_sql.';
COMMENT ON COLUMN "rule_quality"."confidence" IS 'Share of the bindings that satisfy the body which satisfy the head.';
COMMENT ON COLUMN "rule_quality"."confidence_low" IS 'Lower end of the Wilson interval of 95 % of the confidence.';
COMMENT ON COLUMN "rule_quality"."confidence_high" IS 'Its upper end.';
COMMENT ON COLUMN "rule_quality"."base_rate" IS 'Share of the bindings of the head alone that satisfy it.';
COMMENT ON COLUMN "rule_quality"."lift" IS 'Confidence divided by the base rate.';
COMMENT ON COLUMN "rule_quality"."pca_confidence" IS 'Confidence over those bindings of whose head''s other arguments some fact is known, where the predicate of the head is to be predicted and has several arguments; else NULL.';
COMMENT ON COLUMN "rule_quality"."groundings" IS 'Groundings: the product of the domain sizes.';
COMMENT ON COLUMN "rule_quality"."verdict" IS 'All of that in words.';
COMMENT ON COLUMN "rule_quality"."implied_by" IS 'Numbers of rules that imply it, since they subsume it.';
COMMENT ON COLUMN "rule_quality"."contradicts" IS 'Numbers of rules with the same body and the negation of its head.';
COMMENT ON COLUMN "rule_quality"."problem" IS 'Why it was not counted; NULL if it was.';
COMMENT ON COLUMN "rule_quality"."violating_sql" IS 'A query of the bindings that violate it, by name.';
COMMENT ON COLUMN "rule_quality"."run" IS 'Run.';

CREATE VIEW "explain_atom" AS
SELECT e.run, e.example_name AS example, e.name AS atom, e.truth, o.label, e.margin, r.side, r.clause, r.ground_clause, r.weight, r.times, r.contribution, e.gap
FROM explained AS e LEFT JOIN reason AS r USING (run, atom) LEFT JOIN outcome AS o ON o.run = e.run AND o.atom = e.atom
ORDER BY e.run ASC NULLS LAST, e.example ASC NULLS LAST, e.name ASC NULLS LAST, r.side = 'neutral' ASC NULLS LAST, r.side DESC NULLS LAST, abs(r.contribution) DESC NULLS LAST, r.clause ASC NULLS LAST, r.ground_clause ASC NULLS LAST;
COMMENT ON VIEW "explain_atom" IS 'The ground clauses that speak for and against atoms of kept predictions, in each run that explained them (Prediction.why), the strongest first; explanation has the newest run of each alone.';
COMMENT ON COLUMN "explain_atom"."run" IS 'Run that predicted.';
COMMENT ON COLUMN "explain_atom"."example" IS 'Name of its example.';
COMMENT ON COLUMN "explain_atom"."atom" IS 'The atom with its constants.';
COMMENT ON COLUMN "explain_atom"."truth" IS 'Predicted truth.';
COMMENT ON COLUMN "explain_atom"."label" IS 'Its label; NULL if it has none, or the prediction was not evaluated.';
COMMENT ON COLUMN "explain_atom"."margin" IS 'How much the score of the best world falls when the atom must have the other value (log-odds); infinite if no world has it.';
COMMENT ON COLUMN "explain_atom"."side" IS 'for: flipping the atom alone loses what the ground clause is worth; against: it gains it; neutral: other atoms decide.';
COMMENT ON COLUMN "explain_atom"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "explain_atom"."ground_clause" IS 'The ground clause with its constants.';
COMMENT ON COLUMN "explain_atom"."weight" IS 'Weight (log-odds); NULL if hard.';
COMMENT ON COLUMN "explain_atom"."times" IS 'Groundings with this text.';
COMMENT ON COLUMN "explain_atom"."contribution" IS 'What flipping the atom alone loses (log-odds); infinite if hard.';
COMMENT ON COLUMN "explain_atom"."gap" IS 'The margin is off by no more than this.';

CREATE VIEW "run_comparison" AS
WITH known AS (
    SELECT r.run, bool_and(c.key IS NOT NULL OR c.clause IS NULL) AS keyed
    FROM run AS r LEFT JOIN clause AS c ON c.model = r.model
    WHERE r.model IS NOT NULL
    GROUP BY r.run
), pair AS (
    SELECT a.run AS first, b.run AS second, a.keyed AND b.keyed AS keyed
    FROM known AS a JOIN known AS b ON b.run <> a.run
), named AS (
    SELECT r.run, w.keyed, CASE WHEN w.keyed THEN c.key ELSE c.text END AS name, c.clause AS id, c.text, c.weight, c.hard
    FROM run AS r JOIN clause AS c ON c.model = r.model CROSS JOIN (VALUES (true), (false)) AS w(keyed)
    WHERE c.key IS NOT NULL OR NOT w.keyed
), learned AS (
    SELECT n.run, n.keyed, n.name, row_number() OVER (PARTITION BY n.run, n.keyed, n.name ORDER BY n.id ASC NULLS LAST) AS copy, n.text, n.weight, n.hard
    FROM named AS n
), compared AS (
    SELECT p.first, p.second, l.keyed, l.name, l.copy
    FROM pair AS p JOIN learned AS l ON l.run = p.first AND l.keyed = p.keyed
    UNION
    SELECT p.first, p.second, l.keyed, l.name, l.copy
    FROM pair AS p JOIN learned AS l ON l.run = p.second AND l.keyed = p.keyed
), judged AS (
    SELECT o.run, 2 * CAST(count(*) FILTER (WHERE o.label AND o.predicted) AS DOUBLE) / nullif(count(*) FILTER (WHERE o.label) + count(*) FILTER (WHERE o.predicted), 0) AS f1,
        CAST(count(*) FILTER (WHERE o.label = o.predicted) AS DOUBLE) / count(*) AS accuracy
    FROM outcome AS o
    GROUP BY o.run
), validated AS (
    SELECT s.run, CAST(sum(s.correct) AS DOUBLE) / nullif(sum(s.atoms), 0) AS accuracy
    FROM step AS s
    GROUP BY s.run
), scored AS (
    SELECT r.run, j.f1, coalesce(j.accuracy, v.accuracy) AS accuracy
    FROM run AS r LEFT JOIN judged AS j USING (run) LEFT JOIN validated AS v USING (run)
)
SELECT c.first, c.second,
    CASE WHEN x.name IS NULL THEN 'gained' WHEN y.name IS NULL THEN 'lost' WHEN x.weight IS DISTINCT FROM y.weight OR x.hard <> y.hard THEN 'changed' ELSE 'same' END AS change,
    coalesce(y.text, x.text) AS clause, x.weight AS first_weight, y.weight AS second_weight, y.weight - x.weight AS difference, u.f1 AS first_f1, v.f1 AS second_f1, u.accuracy AS first_accuracy, v.accuracy AS second_accuracy
FROM compared AS c
    LEFT JOIN learned AS x ON x.run = c.first AND x.keyed = c.keyed AND x.name = c.name AND x.copy = c.copy
    LEFT JOIN learned AS y ON y.run = c.second AND y.keyed = c.keyed AND y.name = c.name AND y.copy = c.copy
    JOIN scored AS u ON u.run = c.first JOIN scored AS v ON v.run = c.second
ORDER BY c.first ASC NULLS LAST, c.second ASC NULLS LAST, (x.name IS NULL) DESC NULLS LAST, (y.name IS NULL) DESC NULLS LAST, abs(coalesce(y.weight, 0) - coalesce(x.weight, 0)) DESC NULLS LAST, clause ASC NULLS LAST, c.copy ASC NULLS LAST;
COMMENT ON VIEW "run_comparison" IS 'What a second run has that a first one has not, for every ordered pair of runs with a model: from run_comparison where first = 3 and second = 5. Clauses are the same that differ in names of variables alone (beside a run of an earlier version: that have the same text).';
COMMENT ON COLUMN "run_comparison"."first" IS 'A run of a learner or a prediction.';
COMMENT ON COLUMN "run_comparison"."second" IS 'Another one.';
COMMENT ON COLUMN "run_comparison"."change" IS 'gained: only the second has the clause; lost: only the first; changed: their weights differ; same.';
COMMENT ON COLUMN "run_comparison"."clause" IS 'The clause as text, of the second run if it has it.';
COMMENT ON COLUMN "run_comparison"."first_weight" IS 'Weight in the first (log-odds); NULL if hard, not learned or not there.';
COMMENT ON COLUMN "run_comparison"."second_weight" IS 'Weight in the second.';
COMMENT ON COLUMN "run_comparison"."difference" IS 'Second weight minus first.';
COMMENT ON COLUMN "run_comparison"."first_f1" IS 'F1 of the first run, from 0 to 1, if it is a kept prediction that was evaluated.';
COMMENT ON COLUMN "run_comparison"."second_f1" IS 'F1 of the second run.';
COMMENT ON COLUMN "run_comparison"."first_accuracy" IS 'Share of atoms that the first run predicted rightly: of an evaluated prediction, or of an online learner before it learned from them.';
COMMENT ON COLUMN "run_comparison"."second_accuracy" IS 'The same of the second run.';

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
