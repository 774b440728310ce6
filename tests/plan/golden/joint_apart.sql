-- joint: 1 Friends(x, y) ^ Cancer(x) ^ Cancer(z)

WITH "m0" AS (
  SELECT
    "f0"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  GROUP BY
    "f0"."a0"
)
SELECT
  CAST("o0"."truth" AS BIGINT) * 1 + CAST("o1"."truth" AS BIGINT) * 2 AS "pattern",
  COUNT(*) AS "n",
  SUM("m0"."n") AS "groundings"
FROM "m0" AS "m0"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
  ON "o0"."a0" = "m0"."s0"
CROSS JOIN "memory"."sqlrl"."atom_Cancer" AS "o1"
WHERE
  NOT "o0"."truth" IS NULL
  AND NOT "o1"."truth" IS NULL
  AND "o0"."atom" <> "o1"."atom"
GROUP BY
  CAST("o0"."truth" AS BIGINT) * 1 + CAST("o1"."truth" AS BIGINT) * 2;
