SELECT
  "a"."example",
  "a"."arguments",
  "a"."truth"
FROM "sqlrl"."audit_atom" AS "a"
LEFT JOIN (
  SELECT DISTINCT
    "p"."team" AS "k1"
  FROM "sqlrl"."named_Coach" AS "p"
  WHERE
    "p"."value" >= 0.5 AND "p"."person" = 'O''Neil'
) AS "c"
  ON "c"."k1" = "a"."arguments"[2]
WHERE
  "a"."run" = 7 AND NOT "a"."truth" IS NULL AND "a"."truth" = (
    "c"."k1" IS NULL
  )
ORDER BY
  "a"."example",
  "a"."arguments";
