SELECT
  COUNT(DISTINCT "p"."unit") AS "n"
FROM (
  SELECT DISTINCT
    "a"."example" AS "unit",
    "a"."part"
  FROM "sqlrl"."audit_atom" AS "a"
  WHERE
    "a"."run" = 7
) AS "p"
INNER JOIN "sqlrl"."audit_seen" AS "s"
  ON "s"."run" = 7 AND "s"."test" = "p"."part";
