-- Types of numbers can be cut into pieces, whose edges are kept; facts can be appended to a load and removed from it; runs of
-- learners keep what they learned from.

ALTER TABLE "type" ADD COLUMN "edges" VARCHAR;
COMMENT ON COLUMN "type"."edges" IS 'Where its numbers are cut into pieces, ascending, as a JSON list; NULL if they are not.';

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
COMMENT ON TABLE "source" IS 'What was loaded, one row for each predicate and role; "part" has what was appended to it and removed from it since.';
COMMENT ON COLUMN "source"."rows" IS 'Number of rows, with those that were appended and without those that were removed.';
COMMENT ON COLUMN "marginal"."method" IS 'fixed, logistic, elimination or enumeration (exact), gibbs or mcsat.';

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
