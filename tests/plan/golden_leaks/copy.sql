SELECT
  "a"."example",
  "a"."arguments",
  "a"."truth"
FROM "sqlrl"."audit_atom" AS "a"
LEFT JOIN (
  SELECT DISTINCT
    "p"."team_2" AS "k0",
    "p"."team" AS "k1"
  FROM "sqlrl"."named_Lost" AS "p"
) AS "c"
  ON "c"."k0" = "a"."arguments"[1] AND "c"."k1" = "a"."arguments"[2]
WHERE
  "a"."run" = 7
  AND NOT "a"."truth" IS NULL
  AND "a"."truth" = (
    NOT "c"."k0" IS NULL
  )
ORDER BY
  "a"."example",
  "a"."arguments";
