-- flips: 1 Friends(x, y) ^ Cancer(x) => Cancer(y)

-- duckdb
WITH "c0" AS (
  SELECT
    "a"."atom",
    "a"."a0",
    CASE WHEN "a"."truth" THEN (
      -1
    ) ELSE 1 END AS "change"
  FROM "memory"."sqlrl"."atom_Cancer" AS "a"
), "m1" AS (
  SELECT
    "f1"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
  GROUP BY
    "f1"."a0"
), "m2" AS (
  SELECT
    "f2"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f2"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f3"
    ON "f3"."a0" = "f2"."a1"
  GROUP BY
    "f2"."a0"
), "m3" AS (
  SELECT
    "f6"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f5"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f6"
    ON "f6"."a0" = "f5"."a0"
  GROUP BY
    "f6"."a1"
)
SELECT
  "atom",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * "m1"."n") AS INT128) AS "n"
  FROM "c0" AS "f0"
  INNER JOIN "m1" AS "m1"
    ON "m1"."s0" = "f0"."a0"
  GROUP BY
    "f0"."atom"
  UNION ALL
  SELECT
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * "m2"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "f0"
  INNER JOIN "m2" AS "m2"
    ON "m2"."s0" = "f0"."a0"
  GROUP BY
    "f0"."atom"
  UNION ALL
  SELECT
    "f4"."atom" AS "atom",
    CAST(SUM("f4"."change" * "m3"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "f4"
  INNER JOIN "m3" AS "m3"
    ON "m3"."s0" = "f4"."a0"
  GROUP BY
    "f4"."atom"
  UNION ALL
  SELECT
    "f7"."atom" AS "atom",
    CAST(SUM((
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f8"
  INNER JOIN "c0" AS "f7"
    ON "f7"."a0" = "f8"."a0"
  WHERE
    "f8"."a1" = "f8"."a0"
  GROUP BY
    "f7"."atom"
) AS "terms"
GROUP BY
  "atom"
HAVING
  CAST(SUM("terms"."n") AS INT128) <> 0;

-- spark
WITH `c0` AS (
  SELECT
    `a`.`atom`,
    `a`.`a0`,
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
), `m1` AS (
  SELECT
    `f1`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f1`
  GROUP BY
    `f1`.`a0`
), `m2` AS (
  SELECT
    `f2`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f2`
  INNER JOIN (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    WHERE
      `a`.`truth`
  ) AS `f3`
    ON `f3`.`a0` = `f2`.`a1`
  GROUP BY
    `f2`.`a0`
), `m3` AS (
  SELECT
    `f6`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    WHERE
      `a`.`truth`
  ) AS `f5`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f6`
    ON `f6`.`a0` = `f5`.`a0`
  GROUP BY
    `f6`.`a1`
)
SELECT
  `atom`,
  COALESCE(
    TRY_SUM(CAST(`terms`.`n` AS DECIMAL(38, 0))),
    CASE
      WHEN COUNT(`terms`.`n`) > 0
      THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
    END
  ) AS `n`
FROM (
  SELECT
    `f0`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f0`.`change` * `m1`.`n` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f0`.`change` * `m1`.`n`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f0`
  INNER JOIN `m1` AS `m1`
    ON `m1`.`s0` = `f0`.`a0`
  GROUP BY
    `f0`.`atom`
  UNION ALL
  SELECT
    `f0`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f0`.`change` * `m2`.`n` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f0`.`change` * `m2`.`n` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f0`
  INNER JOIN `m2` AS `m2`
    ON `m2`.`s0` = `f0`.`a0`
  GROUP BY
    `f0`.`atom`
  UNION ALL
  SELECT
    `f4`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f4`.`change` * `m3`.`n` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f4`.`change` * `m3`.`n` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f4`
  INNER JOIN `m3` AS `m3`
    ON `m3`.`s0` = `f4`.`a0`
  GROUP BY
    `f4`.`atom`
  UNION ALL
  SELECT
    `f7`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST((
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT((
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f8`
  INNER JOIN `c0` AS `f7`
    ON `f7`.`a0` = `f8`.`a0`
  WHERE
    `f8`.`a1` = `f8`.`a0`
  GROUP BY
    `f7`.`atom`
) AS `terms`
GROUP BY
  `atom`
HAVING
  COALESCE(
    TRY_SUM(CAST(`terms`.`n` AS DECIMAL(38, 0))),
    CASE
      WHEN COUNT(`terms`.`n`) > 0
      THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
    END
  ) <> 0;
