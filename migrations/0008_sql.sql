-- Models have names, and scripts of SQL say which of their statements have finished.

CREATE TABLE "named_model" (
    "name" VARCHAR NOT NULL,
    "model" INTEGER NOT NULL,
    "run" INTEGER,
    "created" TIMESTAMP NOT NULL
);
COMMENT ON TABLE "named_model" IS 'Models under names: those of CREATE MODEL in scripts, and of keep_model.';
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
