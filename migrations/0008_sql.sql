-- An audit keeps the leaks that it found, the parts of its folds, and how well identity alone predicts.

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
