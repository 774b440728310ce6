-- resolwe follows streams that drift: what it counts decays, and rules come and go.

ALTER TABLE "joint_count" ADD COLUMN "recent" DOUBLE;
COMMENT ON COLUMN "joint_count"."recent" IS 'What is left of n where counts decay; NULL otherwise.';

ALTER TABLE "formulation" ADD COLUMN "recent" DOUBLE;
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
