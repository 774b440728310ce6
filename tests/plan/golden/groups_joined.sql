-- joined by v0 v2: 1 Friends(x, y) ^ Friends(y, z) => Cancer(x)

-- duckdb
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

-- spark
WITH `m0` AS (
  SELECT
    `f0`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f0`
  GROUP BY
    `f0`.`a1`
)
SELECT
  COALESCE(
    TRY_SUM(CAST(`m0`.`n` AS DECIMAL(38, 0))),
    CASE
      WHEN COUNT(`m0`.`n`) > 0
      THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
    END
  ) AS `n`
FROM `memory`.`sqlrl`.`fact_Friends` AS `f1`
INNER JOIN `m0` AS `m0`
  ON `m0`.`s0` = `f1`.`a0`;
