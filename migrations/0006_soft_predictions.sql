-- Predictions of soft models can be kept: their truth values, how far each rule is from being satisfied, and what is proved of both.

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
