-- Facts and atoms can have soft truths: values from 0 to 1, in a column of the source that is kept.

ALTER TABLE "source" ADD COLUMN "value" VARCHAR;
COMMENT ON COLUMN "source"."value" IS 'Column of the source that holds the soft truth of its rows, from 0 to 1; NULL if they are true or false.';
