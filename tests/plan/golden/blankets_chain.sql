-- blankets: 1 Friends(x, y) ^ Friends(y, z) ^ Cancer(x) => Smokes(z)

WITH "m0" AS (
  SELECT
    "f1"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
  GROUP BY
    "f1"."a0"
), "m1" AS (
  SELECT
    "f0"."a0" AS "s0",
    CAST(SUM("m0"."n") AS BIGINT) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  INNER JOIN "m0" AS "m0"
    ON "m0"."s0" = "f0"."a1"
  GROUP BY
    "f0"."a0"
), "m2" AS (
  SELECT
    "f3"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f3"
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
  ) AS "f4"
    ON "f4"."a0" = "f3"."a1"
  GROUP BY
    "f3"."a0"
), "m3" AS (
  SELECT
    "f2"."a0" AS "s0",
    CAST(SUM("m2"."n") AS BIGINT) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f2"
  INNER JOIN "m2" AS "m2"
    ON "m2"."s0" = "f2"."a1"
  GROUP BY
    "f2"."a0"
), "m4" AS (
  SELECT
    "f5"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f5"
  GROUP BY
    "f5"."a0"
), "m5" AS (
  SELECT
    "f6"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f6"
  GROUP BY
    "f6"."a0"
), "m6" AS (
  SELECT
    "f7"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f7"
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
  ) AS "f8"
    ON "f8"."a0" = "f7"."a1"
  GROUP BY
    "f7"."a0"
), "m7" AS (
  SELECT
    "f9"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM (
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
  ) AS "f9"
  GROUP BY
    "f9"."a0"
), "m8" AS (
  SELECT
    "f11"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f10"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f11"
    ON "f11"."a0" = "f10"."a0"
  GROUP BY
    "f11"."a1"
), "m9" AS (
  SELECT
    "f13"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f12"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f13"
    ON "f13"."a0" = "f12"."a0"
  GROUP BY
    "f13"."a1"
), "m10" AS (
  SELECT
    "f14"."a1" AS "s0",
    CAST(SUM("m9"."n") AS BIGINT) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f14"
  INNER JOIN "m9" AS "m9"
    ON "m9"."s0" = "f14"."a0"
  GROUP BY
    "f14"."a1"
)
SELECT
  "part",
  "s0",
  "n"
FROM (
  SELECT
    0 AS "part",
    CAST("m1"."s0" AS INT) AS "s0",
    CAST("m1"."n" AS BIGINT) AS "n"
  FROM "m1" AS "m1"
  WHERE
    "m1"."n" <> 0
  UNION ALL
  SELECT
    1 AS "part",
    CAST("m3"."s0" AS INT) AS "s0",
    CAST("m3"."n" AS BIGINT) AS "n"
  FROM "m3" AS "m3"
  WHERE
    "m3"."n" <> 0
  UNION ALL
  SELECT
    2 AS "part",
    CAST("m4"."s0" AS INT) AS "s0",
    CAST("m4"."n" AS BIGINT) AS "n"
  FROM "m4" AS "m4"
  WHERE
    "m4"."n" <> 0
  UNION ALL
  SELECT
    3 AS "part",
    CAST("m5"."s0" AS INT) AS "s0",
    CAST("m5"."n" AS BIGINT) AS "n"
  FROM "m5" AS "m5"
  WHERE
    "m5"."n" <> 0
  UNION ALL
  SELECT
    4 AS "part",
    CAST("m6"."s0" AS INT) AS "s0",
    CAST("m6"."n" AS BIGINT) AS "n"
  FROM "m6" AS "m6"
  WHERE
    "m6"."n" <> 0
  UNION ALL
  SELECT
    5 AS "part",
    CAST("m7"."s0" AS INT) AS "s0",
    CAST("m7"."n" AS BIGINT) AS "n"
  FROM "m7" AS "m7"
  WHERE
    "m7"."n" <> 0
  UNION ALL
  SELECT
    6 AS "part",
    CAST("m8"."s0" AS INT) AS "s0",
    CAST("m8"."n" AS BIGINT) AS "n"
  FROM "m8" AS "m8"
  WHERE
    "m8"."n" <> 0
  UNION ALL
  SELECT
    7 AS "part",
    CAST("m10"."s0" AS INT) AS "s0",
    CAST("m10"."n" AS BIGINT) AS "n"
  FROM "m10" AS "m10"
  WHERE
    "m10"."n" <> 0
) AS "parts";
