-- expand bodies: Token(+w, p, c) ^ Next(p, q) => InField(c, +f, q)

WITH "m0" AS (
  SELECT
    "f0"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f0"
  GROUP BY
    "f0"."a0"
), "m1" AS (
  SELECT
    "f1"."a0" AS "s0",
    CAST(SUM("m0"."n") AS BIGINT) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f1"
  INNER JOIN "m0" AS "m0"
    ON "m0"."s0" = "f1"."a1"
  GROUP BY
    "f1"."a0"
)
SELECT DISTINCT
  "m1"."s0" AS "plus0",
  "d3"."id" AS "plus1"
FROM "m1" AS "m1"
CROSS JOIN "memory"."sqlrl"."bound_field" AS "d3";
