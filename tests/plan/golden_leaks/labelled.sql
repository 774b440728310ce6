SELECT
  "a"."part",
  "a"."truth",
  "a"."arguments"[1] AS "k0",
  "a"."arguments"[2] AS "k1"
FROM "sqlrl"."audit_atom" AS "a"
WHERE
  "a"."run" = 7 AND NOT "a"."truth" IS NULL
ORDER BY
  "a"."example",
  "a"."arguments";
