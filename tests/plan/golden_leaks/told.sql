SELECT
  "a"."example",
  "a"."arguments",
  "a"."truth"
FROM "sqlrl"."audit_atom" AS "a"
INNER JOIN (
  SELECT DISTINCT
    "p"."person" AS "k0",
    "p"."example" AS "example"
  FROM "sqlrl"."named_Taught" AS "p"
) AS "c"
  ON "c"."k0" = "a"."arguments"[1] AND "c"."example" = "a"."example"
WHERE
  "a"."run" = 7 AND NOT "a"."truth" IS NULL
ORDER BY
  "a"."example",
  "a"."arguments";
