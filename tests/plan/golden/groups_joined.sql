-- joined by v0 v2: 1 Friends(x, y) ^ Friends(y, z) => Cancer(x)

WITH "m0" AS (
  SELECT
    "f0"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  GROUP BY
    "f0"."a1"
)
SELECT
  CAST(SUM("m0"."n") AS INT128) AS "n"
FROM "memory"."sqlrl"."fact_Friends" AS "f1"
INNER JOIN "m0" AS "m0"
  ON "m0"."s0" = "f1"."a0";
