-- Expected counts stand beside observed ones, and a view shows the clauses in which they differ most.

ALTER TABLE "clause_statistics" ADD COLUMN "n_expected" DOUBLE;
COMMENT ON TABLE "clause_statistics" IS 'Exact counts of each clause over the examples of a run: of a learner, of predict(keep=True) or of count(expected=True, keep=True). What a run does not know is NULL.';
COMMENT ON COLUMN "clause_statistics"."n_expected" IS 'True groundings in the mean over all worlds, each as probable as the weights say given the evidence: the expected count E[n], exact up to rounding. Of learners those that know it have it, over the training examples under the learned weights.';

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
COMMENT ON TABLE "marginal" IS 'Probabilities of query atoms that were kept (probabilities(keep=True)).';
