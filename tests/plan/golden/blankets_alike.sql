-- blankets: 1 Friends(x, y) ^ Friends(y, z) => Friends(x, z)

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
    "f2"."a0" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f2"
    ON "f2"."a1" = "f1"."a1"
  GROUP BY
    "f1"."a0",
    "f2"."a0"
), "m2" AS (
  SELECT
    "f3"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f3"
  GROUP BY
    "f3"."a1"
), "m3" AS (
  SELECT
    "f4"."a1" AS "s0",
    "f5"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f4"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f5"
    ON "f5"."a0" = "f4"."a0"
  GROUP BY
    "f4"."a1",
    "f5"."a1"
), "m4" AS (
  SELECT
    "f6"."a0" AS "s0",
    "f7"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f6"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f7"
    ON "f7"."a0" = "f6"."a1"
  GROUP BY
    "f6"."a0",
    "f7"."a1"
), "m5" AS (
  SELECT
    "f8"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f8"
  WHERE
    "f8"."a1" = "f8"."a0"
  GROUP BY
    "f8"."a0"
)
SELECT
  "part",
  "s0",
  "s1",
  "n"
FROM (
  SELECT
    0 AS "part",
    CAST("m0"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m0"."n" AS BIGINT) AS "n"
  FROM "m0" AS "m0"
  WHERE
    "m0"."n" <> 0
  UNION ALL
  SELECT
    1 AS "part",
    CAST("m1"."s0" AS INT) AS "s0",
    CAST("m1"."s1" AS INT) AS "s1",
    CAST("m1"."n" AS BIGINT) AS "n"
  FROM "m1" AS "m1"
  WHERE
    "m1"."n" <> 0
  UNION ALL
  SELECT
    2 AS "part",
    CAST("m2"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m2"."n" AS BIGINT) AS "n"
  FROM "m2" AS "m2"
  WHERE
    "m2"."n" <> 0
  UNION ALL
  SELECT
    3 AS "part",
    CAST("m3"."s0" AS INT) AS "s0",
    CAST("m3"."s1" AS INT) AS "s1",
    CAST("m3"."n" AS BIGINT) AS "n"
  FROM "m3" AS "m3"
  WHERE
    "m3"."n" <> 0
  UNION ALL
  SELECT
    4 AS "part",
    CAST("m4"."s0" AS INT) AS "s0",
    CAST("m4"."s1" AS INT) AS "s1",
    CAST("m4"."n" AS BIGINT) AS "n"
  FROM "m4" AS "m4"
  WHERE
    "m4"."n" <> 0
  UNION ALL
  SELECT
    5 AS "part",
    CAST("m5"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m5"."n" AS BIGINT) AS "n"
  FROM "m5" AS "m5"
  WHERE
    "m5"."n" <> 0
) AS "parts";
