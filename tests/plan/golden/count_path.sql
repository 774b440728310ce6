-- count: 1 Friends(x, y) ^ Friends(y, z) ^ Smokes(z) => Cancer(x)

WITH "m0" AS (
  SELECT
    "f0"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  GROUP BY
    "f0"."a1"
), "m1" AS (
  SELECT
    "f3"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f3"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f6"
    ON "f6"."a0" = "f3"."a0"
  GROUP BY
    "f3"."a1"
)
SELECT
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    CAST(SUM("m0"."n") AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Smokes" AS "a"
    WHERE
      "a"."truth"
    UNION ALL
    SELECT
      "a0"
    FROM "memory"."sqlrl"."fact_Smokes"
    WHERE
      "given" AND "truth"
  ) AS "f2"
    ON "f2"."a0" = "f1"."a1"
  INNER JOIN "m0" AS "m0"
    ON "m0"."s0" = "f1"."a0"
  UNION ALL
  SELECT
    CAST(SUM("m1"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f4"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Smokes" AS "a"
    WHERE
      "a"."truth"
    UNION ALL
    SELECT
      "a0"
    FROM "memory"."sqlrl"."fact_Smokes"
    WHERE
      "given" AND "truth"
  ) AS "f5"
    ON "f5"."a0" = "f4"."a1"
  INNER JOIN "m1" AS "m1"
    ON "m1"."s0" = "f4"."a0"
) AS "terms";
