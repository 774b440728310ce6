-- Runs of learners keep which examples and query atoms they learned from, so that
-- scores on the same ones can say so.
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
