-- count: Token(+w, p, c) => InField(c, +f, p)

WITH "m0" AS (
  SELECT
    "f0"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f0"
  GROUP BY
    "f0"."a0"
)
SELECT
  "clause",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "p"."clause" AS "clause",
    CAST(SUM("m0"."n") AS INT128) AS "n"
  FROM "memory"."sqlrl"."scratch_parameter" AS "p"
  INNER JOIN "m0" AS "m0"
    ON "m0"."s0" = "p"."k1"
  GROUP BY
    "p"."clause"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    CAST(SUM((
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f1"
  INNER JOIN (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    WHERE
      "a"."truth"
  ) AS "f2"
    ON "f2"."a0" = "f1"."a2" AND "f2"."a2" = "f1"."a1"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f2"."a1" AND "p"."k1" = "f1"."a0"
  GROUP BY
    "p"."clause"
) AS "terms"
GROUP BY
  "clause";
