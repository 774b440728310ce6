-- blankets: InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q) v p = q

WITH "m0" AS (
  SELECT
    "f0"."a0" AS "s0",
    "d1"."example" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f0"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d1"
    ON "d1"."id" = "f0"."a1"
  GROUP BY
    "f0"."a0",
    "d1"."example"
), "m1" AS (
  SELECT
    "f2"."a0" AS "s0",
    "f2"."a1" AS "s1",
    "f3"."a0" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    WHERE
      "a"."truth"
  ) AS "f2"
  INNER JOIN "memory"."sqlrl"."fact_Next" AS "f3"
    ON "f3"."a1" = "f2"."a2"
  GROUP BY
    "f2"."a0",
    "f2"."a1",
    "f3"."a0"
), "m2" AS (
  SELECT
    "f4"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f4"
  WHERE
    "f4"."a1" = "f4"."a0"
  GROUP BY
    "f4"."a0"
), "m3" AS (
  SELECT
    "f5"."a0" AS "s0",
    "f5"."a1" AS "s1",
    "f5"."a2" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    WHERE
      "a"."truth"
  ) AS "f5"
  GROUP BY
    "f5"."a0",
    "f5"."a1",
    "f5"."a2"
), "m4" AS (
  SELECT
    "f6"."a0" AS "s0",
    "f6"."a1" AS "s1",
    "f7"."a1" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    WHERE
      "a"."truth"
  ) AS "f6"
  INNER JOIN "memory"."sqlrl"."fact_Next" AS "f7"
    ON "f7"."a0" = "f6"."a2"
  GROUP BY
    "f6"."a0",
    "f6"."a1",
    "f7"."a1"
), "m5" AS (
  SELECT
    "f8"."a1" AS "s0",
    "f8"."a2" AS "s1",
    "d9"."id" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    WHERE
      "a"."truth"
  ) AS "f8"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d9"
    ON "d9"."example" = "f8"."a0"
  GROUP BY
    "f8"."a1",
    "f8"."a2",
    "d9"."id"
), "m6" AS (
  SELECT
    "f10"."a1" AS "s0",
    "f10"."a2" AS "s1",
    "f11"."a1" AS "s2",
    "f11"."a2" AS "s3",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    WHERE
      "a"."truth"
  ) AS "f10"
  INNER JOIN (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    WHERE
      "a"."truth"
  ) AS "f11"
    ON "f11"."a0" = "f10"."a0"
  GROUP BY
    "f10"."a1",
    "f10"."a2",
    "f11"."a1",
    "f11"."a2"
)
SELECT
  "part",
  "s0",
  "s1",
  "s2",
  "s3",
  "n"
FROM (
  SELECT
    0 AS "part",
    CAST("m0"."s0" AS INT) AS "s0",
    CAST("m0"."s1" AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST(NULL AS INT) AS "s3",
    CAST("m0"."n" AS BIGINT) AS "n"
  FROM "m0" AS "m0"
  WHERE
    "m0"."n" <> 0
  UNION ALL
  SELECT
    1 AS "part",
    CAST("m1"."s0" AS INT) AS "s0",
    CAST("m1"."s1" AS INT) AS "s1",
    CAST("m1"."s2" AS INT) AS "s2",
    CAST(NULL AS INT) AS "s3",
    CAST("m1"."n" AS BIGINT) AS "n"
  FROM "m1" AS "m1"
  WHERE
    "m1"."n" <> 0
  UNION ALL
  SELECT
    2 AS "part",
    CAST("m2"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST(NULL AS INT) AS "s3",
    CAST("m2"."n" AS BIGINT) AS "n"
  FROM "m2" AS "m2"
  WHERE
    "m2"."n" <> 0
  UNION ALL
  SELECT
    3 AS "part",
    CAST("m3"."s0" AS INT) AS "s0",
    CAST("m3"."s1" AS INT) AS "s1",
    CAST("m3"."s2" AS INT) AS "s2",
    CAST(NULL AS INT) AS "s3",
    CAST("m3"."n" AS BIGINT) AS "n"
  FROM "m3" AS "m3"
  WHERE
    "m3"."n" <> 0
  UNION ALL
  SELECT
    4 AS "part",
    CAST("m4"."s0" AS INT) AS "s0",
    CAST("m4"."s1" AS INT) AS "s1",
    CAST("m4"."s2" AS INT) AS "s2",
    CAST(NULL AS INT) AS "s3",
    CAST("m4"."n" AS BIGINT) AS "n"
  FROM "m4" AS "m4"
  WHERE
    "m4"."n" <> 0
  UNION ALL
  SELECT
    5 AS "part",
    CAST("m5"."s0" AS INT) AS "s0",
    CAST("m5"."s1" AS INT) AS "s1",
    CAST("m5"."s2" AS INT) AS "s2",
    CAST(NULL AS INT) AS "s3",
    CAST("m5"."n" AS BIGINT) AS "n"
  FROM "m5" AS "m5"
  WHERE
    "m5"."n" <> 0
  UNION ALL
  SELECT
    6 AS "part",
    CAST("m6"."s0" AS INT) AS "s0",
    CAST("m6"."s1" AS INT) AS "s1",
    CAST("m6"."s2" AS INT) AS "s2",
    CAST("m6"."s3" AS INT) AS "s3",
    CAST("m6"."n" AS BIGINT) AS "n"
  FROM "m6" AS "m6"
  WHERE
    "m6"."n" <> 0
) AS "parts";
