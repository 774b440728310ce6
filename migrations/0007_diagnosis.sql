-- Self-diagnosis keeps in which bins the groundings of each rule lie, and some of these groundings.

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
