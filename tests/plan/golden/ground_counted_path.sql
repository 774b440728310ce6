-- ground: 1 Friends(x, y) ^ Friends(y, z) ^ Friends(z, w) => Cancer(x)

WITH "m0" AS (
  SELECT
    "f2"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f2"
  GROUP BY
    "f2"."a0"
), "m1" AS (
  SELECT
    "f1"."a0" AS "s0",
    CAST(SUM("m0"."n") AS BIGINT) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
  INNER JOIN "m0" AS "m0"
    ON "m0"."s0" = "f1"."a1"
  GROUP BY
    "f1"."a0"
), "m2" AS (
  SELECT
    "f0"."a0" AS "s0",
    CAST(SUM("m1"."n") AS BIGINT) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  INNER JOIN "m1" AS "m1"
    ON "m1"."s0" = "f0"."a1"
  GROUP BY
    "f0"."a0"
)
SELECT
  "o0"."atom" AS "l0",
  "m2"."n" AS "multiplicity"
FROM "m2" AS "m2"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
  ON "o0"."a0" = "m2"."s0";
