-- flips: 1 Smokes(x) => Cancer(x)

-- duckdb
WITH "c0" AS (
  SELECT
    "a"."atom",
    "a"."a0",
    CASE WHEN "a"."truth" THEN (
      -1
    ) ELSE 1 END AS "change"
  FROM "memory"."sqlrl"."atom_Smokes" AS "a"
), "c1" AS (
  SELECT
    "a"."atom",
    "a"."a0",
    CASE WHEN "a"."truth" THEN (
      -1
    ) ELSE 1 END AS "change"
  FROM "memory"."sqlrl"."atom_Cancer" AS "a"
)
SELECT
  "atom",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change") AS INT128) AS "n"
  FROM "c0" AS "f0"
  GROUP BY
    "f0"."atom"
  UNION ALL
  SELECT
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f1"
  INNER JOIN "c0" AS "f0"
    ON "f0"."a0" = "f1"."a0"
  GROUP BY
    "f0"."atom"
  UNION ALL
  SELECT
    "f2"."atom" AS "atom",
    CAST(SUM("f2"."change" * (
      -1
    )) AS INT128) AS "n"
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
  ) AS "f3"
  INNER JOIN "c1" AS "f2"
    ON "f2"."a0" = "f3"."a0"
  GROUP BY
    "f2"."atom"
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
  FROM `memory`.`sqlrl`.`atom_Smokes` AS `a`
), `c1` AS (
  SELECT
    `a`.`atom`,
    `a`.`a0`,
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
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
      TRY_SUM(CAST(`f0`.`change` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f0`.`change`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f0`
  GROUP BY
    `f0`.`atom`
  UNION ALL
  SELECT
    `f0`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f0`.`change` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f0`.`change` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    WHERE
      `a`.`truth`
  ) AS `f1`
  INNER JOIN `c0` AS `f0`
    ON `f0`.`a0` = `f1`.`a0`
  GROUP BY
    `f0`.`atom`
  UNION ALL
  SELECT
    `f2`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f2`.`change` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f2`.`change` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Smokes` AS `a`
    WHERE
      `a`.`truth`
    UNION ALL
    SELECT
      `a0`
    FROM `memory`.`sqlrl`.`fact_Smokes`
    WHERE
      `given` AND `truth`
  ) AS `f3`
  INNER JOIN `c1` AS `f2`
    ON `f2`.`a0` = `f3`.`a0`
  GROUP BY
    `f2`.`atom`
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
