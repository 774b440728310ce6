SELECT
  NOT "t"."test" IS NULL AS "test",
  "a"."truth",
  COUNT(*) AS "n"
FROM "sqlrl"."audit_atom" AS "a"
LEFT JOIN (
  SELECT DISTINCT
    "s"."test"
  FROM "sqlrl"."audit_seen" AS "s"
  WHERE
    "s"."run" = 7
) AS "t"
  ON "t"."test" = "a"."part"
WHERE
  "a"."run" = 7 AND NOT "a"."truth" IS NULL
GROUP BY
  "t"."test",
  "a"."truth";
