-- Models have names, scripts say which of their statements have finished, kept predictions are held against their labels, and leaks between what is
-- trained on and what is tested are listed: views answer what users ask of models, runs and data.

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

ALTER TABLE "clause" ADD COLUMN "key" VARCHAR;
COMMENT ON COLUMN "clause"."key" IS 'The clause with its variables renamed: alike for clauses that differ in their names alone. NULL of soft models and earlier versions.';

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

DROP VIEW IF EXISTS "worst_predicted_examples";

CREATE VIEW "worst_predicted_examples" AS
WITH several AS (SELECT run, count(DISTINCT example) > 1 AS apart FROM outcome WHERE run = (SELECT max(run) FROM outcome) GROUP BY run)
SELECT w.run, w.example, w.loss, w.atoms, w.accuracy, w.step, w.atom, w.log_odds
FROM (
    SELECT s.run, s.example_name AS example, s.loss, s.atoms, CAST(s.correct AS DOUBLE) / nullif(s.atoms, 0) AS accuracy, s.step, CAST(NULL AS VARCHAR) AS atom, CAST(NULL AS DOUBLE) AS log_odds
    FROM step AS s
    WHERE s.run = (SELECT max(run) FROM step)
    UNION ALL
    SELECT o.run, any_value(o.example_name), CAST(count(*) FILTER (WHERE o.label <> o.predicted) AS DOUBLE), count(*), CAST(count(*) FILTER (WHERE o.label = o.predicted) AS DOUBLE) / count(*), NULL, NULL, NULL
    FROM outcome AS o JOIN several AS v ON v.run = o.run AND v.apart
    GROUP BY o.run, o.example
    UNION ALL
    SELECT o.run, o.example_name, CASE WHEN o.probability IS NULL THEN CASE WHEN o.label = o.predicted THEN 0.0 ELSE 1.0 END WHEN o.label THEN 1 - o.probability ELSE o.probability END, 1, CASE WHEN o.label = o.predicted THEN 1.0 ELSE 0.0 END, NULL, o.name, o.log_odds
    FROM outcome AS o JOIN several AS v ON v.run = o.run AND NOT v.apart
) AS w
ORDER BY w.loss DESC NULLS LAST, w.log_odds DESC NULLS LAST, w.run ASC NULLS LAST, w.step ASC NULLS LAST, w.example ASC NULLS LAST, w.atom ASC NULLS LAST;
COMMENT ON VIEW "worst_predicted_examples" IS 'Examples, the worst first: of the newest learning run, predicted before they were learned, and of the newest kept prediction that was evaluated. Where all data of that are one example, a row for each atom.';
COMMENT ON COLUMN "worst_predicted_examples"."run" IS 'Run that learned, or predicted.';
COMMENT ON COLUMN "worst_predicted_examples"."example" IS 'Name of the example.';
COMMENT ON COLUMN "worst_predicted_examples"."loss" IS 'Hamming loss: atoms predicted wrongly. Of a single atom with a probability, one minus the probability of its label.';
COMMENT ON COLUMN "worst_predicted_examples"."atoms" IS 'Query atoms of the example, of a prediction those with a label.';
COMMENT ON COLUMN "worst_predicted_examples"."accuracy" IS 'Share of the atoms predicted rightly; NULL if it has none.';
COMMENT ON COLUMN "worst_predicted_examples"."step" IS 'Step at which it was predicted and then learned, from 0; NULL for a prediction.';
COMMENT ON COLUMN "worst_predicted_examples"."atom" IS 'The atom with its constants, where all data are one example; NULL otherwise.';
COMMENT ON COLUMN "worst_predicted_examples"."log_odds" IS 'What clauses say for the predicted truth of that atom, as in the table outcome: among atoms predicted wrongly the surest come first.';

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
