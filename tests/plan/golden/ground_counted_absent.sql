-- ground: 1 Friends(z, w) v Friends(x, v) v Cancer(x)

WITH "m0" AS (
  SELECT
    "f0"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  GROUP BY
    "f0"."a0"
), "m1" AS (
  SELECT
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
)
SELECT
  "o0"."atom" AS "l0",
  (
    CAST(3 AS BIGINT) + (
      -1
    ) * COALESCE("m0"."n", 0)
  ) * (
    CAST(9 AS BIGINT) + (
      -1
    ) * COALESCE("m1"."n", 0)
  ) AS "multiplicity"
FROM "memory"."sqlrl"."atom_Cancer" AS "o0"
LEFT JOIN "m0" AS "m0"
  ON "m0"."s0" = "o0"."a0"
LEFT JOIN "m1" AS "m1"
  ON TRUE
WHERE
  (
    CAST(3 AS BIGINT) + (
      -1
    ) * COALESCE("m0"."n", 0)
  ) > 0
  AND (
    CAST(9 AS BIGINT) + (
      -1
    ) * COALESCE("m1"."n", 0)
  ) > 0;
