-- resolwe counts the labels that candidates select, window by window, and says why it keeps a formulation or drops it.

CREATE TABLE "joint_count" (
    "run" INTEGER NOT NULL,
    "candidate" BIGINT NOT NULL,
    "pattern" INTEGER NOT NULL,
    "n" BIGINT NOT NULL,
    "groundings" BIGINT NOT NULL
);
COMMENT ON TABLE "joint_count" IS 'What a run of resolwe has counted so far: how often the query literals of a candidate have which labels where its evidence holds.';
COMMENT ON COLUMN "joint_count"."run" IS 'Run.';
COMMENT ON COLUMN "joint_count"."candidate" IS 'Number of the candidate within the run, from 0.';
COMMENT ON COLUMN "joint_count"."pattern" IS 'The labels: bit i is 1 where the atom of query literal i is true, whatever the sign of the literal.';
COMMENT ON COLUMN "joint_count"."n" IS 'Distinct tuples of query atoms with these labels that the evidence selects.';
COMMENT ON COLUMN "joint_count"."groundings" IS 'Groundings of the evidence that select them.';

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
    "reason" VARCHAR NOT NULL
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
