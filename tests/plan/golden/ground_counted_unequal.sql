-- ground: 1 Friends(x, y) ^ Friends(x, z) ^ y != z => Cancer(x)

WITH "m0" AS (
  SELECT
    "f0"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  GROUP BY
    "f0"."a0"
), "m1" AS (
  SELECT
    "f1"."a0" AS "s0",
    CAST(SUM("m0"."n") AS BIGINT) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
  INNER JOIN "m0" AS "m0"
    ON "m0"."s0" = "f1"."a0"
  GROUP BY
    "f1"."a0"
), "m2" AS (
  SELECT
    "f2"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f2"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f3"
    ON "f3"."a0" = "f2"."a0" AND "f3"."a1" = "f2"."a1"
  GROUP BY
    "f2"."a0"
)
SELECT
  "o0"."atom" AS "l0",
  (
    "m1"."n" + (
      -1
    ) * COALESCE("m2"."n", 0)
  ) AS "multiplicity"
FROM "m1" AS "m1"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
  ON "o0"."a0" = "m1"."s0"
LEFT JOIN "m2" AS "m2"
  ON "m2"."s0" = "m1"."s0"
WHERE
  (
    "m1"."n" + (
      -1
    ) * COALESCE("m2"."n", 0)
  ) > 0;
