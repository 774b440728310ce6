WITH by_k0_example AS MATERIALIZED (
  SELECT
    "a"."arguments"[1] AS "k0",
    "a"."example" AS "example",
    COUNT(*) AS "atoms",
    SUM(CASE WHEN "a"."truth" THEN 1 ELSE 0 END) AS "true_atoms"
  FROM "sqlrl"."audit_atom" AS "a"
  WHERE
    "a"."run" = 7 AND NOT "a"."truth" IS NULL
  GROUP BY
    "a"."arguments"[1],
    "a"."example"
)
SELECT
  0 AS "claim",
  CAST(NULL AS TEXT) AS "constant",
  SUM("g"."atoms") AS "said",
  SUM("g"."true_atoms") AS "right"
FROM (
  SELECT DISTINCT
    "p"."person" AS "k0",
    "p"."example" AS "example"
  FROM "sqlrl"."named_Taught" AS "p"
) AS "c"
INNER JOIN "by_k0_example" AS "g"
  ON "c"."k0" = "g"."k0" AND "c"."example" = "g"."example"
UNION ALL
SELECT
  1 AS "claim",
  "c"."constant" AS "constant",
  SUM("g"."atoms") AS "said",
  SUM("g"."true_atoms") AS "right"
FROM (
  SELECT DISTINCT
    "p"."person" AS "k0",
    "p"."example" AS "example",
    "p"."course" AS "constant"
  FROM "sqlrl"."named_Taught" AS "p"
) AS "c"
INNER JOIN "by_k0_example" AS "g"
  ON "c"."k0" = "g"."k0" AND "c"."example" = "g"."example"
GROUP BY
  "c"."constant";
