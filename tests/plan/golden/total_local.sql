-- total: InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)

WITH "m0" AS (
  SELECT
    "d0"."example" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."domain_position" AS "d0"
  GROUP BY
    "d0"."example"
), "m1" AS (
  SELECT
    "d1"."example" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."domain_position" AS "d1"
  GROUP BY
    "d1"."example"
), "m2" AS (
  SELECT
    CAST(SUM("m0"."n" * "m1"."n") AS BIGINT) AS "n"
  FROM "m0" AS "m0"
  INNER JOIN "m1" AS "m1"
    ON "m1"."s0" = "m0"."s0"
)
SELECT
  "p"."clause" AS "clause",
  CAST(SUM("m2"."n") AS INT128) AS "n"
FROM "memory"."sqlrl"."scratch_parameter" AS "p"
CROSS JOIN "m2" AS "m2"
GROUP BY
  "p"."clause";
