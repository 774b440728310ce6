-- number by v1 v2: InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)

-- duckdb
SELECT
  CAST(COUNT(*) AS INT128) AS "n"
FROM (
  SELECT
    "d0"."id" AS "b0",
    "d1"."id" AS "b1",
    CAST(SUM(1) AS INT128) AS "n"
  FROM "memory"."sqlrl"."domain_position" AS "d0"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d1"
    ON "d1"."example" = "d0"."example"
  GROUP BY
    "d0"."id",
    "d1"."id"
) AS "rows_of"
WHERE
  "rows_of"."n" <> 0;

-- spark
SELECT
  CAST(COUNT(*) AS DECIMAL(38, 0)) AS `n`
FROM (
  SELECT
    `d0`.`id` AS `b0`,
    `d1`.`id` AS `b1`,
    COALESCE(
      TRY_SUM(CAST(1 AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(1) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `memory`.`sqlrl`.`domain_position` AS `d0`
  INNER JOIN `memory`.`sqlrl`.`domain_position` AS `d1`
    ON `d1`.`example` = `d0`.`example`
  GROUP BY
    `d0`.`id`,
    `d1`.`id`
) AS `rows_of`
WHERE
  `rows_of`.`n` <> 0;
