-- duckdb
SELECT
  COALESCE(CAST(SUM("d"."n") AS INT128), 0) AS "n"
FROM "db"."main"."one" AS "f"
INNER JOIN (
  SELECT
    "e"."entity",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "start" AS "entity"
    FROM "db"."main"."edges"
    WHERE
      "stop" IN (
        SELECT
          "entity"
        FROM "db"."main"."last"
      )
    UNION ALL
    SELECT
      "start" AS "entity"
    FROM "db"."main"."marks"
  ) AS "e"
  GROUP BY
    "e"."entity"
) AS "d"
  ON "f"."entity" = "d"."entity";

-- spark
SELECT
  COALESCE(
    COALESCE(
      TRY_SUM(CAST(`d`.`n` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`d`.`n`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ),
    0
  ) AS `n`
FROM `db`.`main`.`one` AS `f`
INNER JOIN (
  SELECT
    `e`.`entity`,
    COUNT(*) AS `n`
  FROM (
    SELECT
      `start` AS `entity`
    FROM `db`.`main`.`edges`
    WHERE
      `stop` IN (
        SELECT
          `entity`
        FROM `db`.`main`.`last`
      )
    UNION ALL
    SELECT
      `start` AS `entity`
    FROM `db`.`main`.`marks`
  ) AS `e`
  GROUP BY
    `e`.`entity`
) AS `d`
  ON `f`.`entity` = `d`.`entity`;
