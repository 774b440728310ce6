-- The worst predicted examples are those of every run, each by itself: training steps stood among test sets, and earlier runs were missing.

DROP VIEW IF EXISTS "worst_predicted_examples";

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
