-- duckdb
WITH fact AS MATERIALIZED (
  SELECT DISTINCT
    "f"."unit",
    "f"."fact"
  FROM (
    SELECT
      "p"."bib" AS "unit",
      ['Token', '3', CAST(COUNT(*) AS TEXT)] AS "fact"
    FROM "sqlrl"."named_Token" AS "p"
    GROUP BY
      "p"."bib"
    UNION ALL
    SELECT
      "p"."bib" AS "unit",
      ['Cites', '1', "p"."bib_2"] AS "fact"
    FROM "sqlrl"."named_Cites" AS "p"
  ) AS "f"
), placed AS MATERIALIZED (
  SELECT DISTINCT
    "a"."example" AS "unit",
    "a"."part"
  FROM "sqlrl"."audit_atom" AS "a"
  WHERE
    "a"."run" = 7
), total AS MATERIALIZED (
  SELECT
    COUNT(DISTINCT "f"."unit") AS "n"
  FROM "fact" AS "f"
), common AS MATERIALIZED (
  SELECT
    "f"."fact",
    COUNT(*) AS "units"
  FROM "fact" AS "f"
  GROUP BY
    "f"."fact"
), weighed AS MATERIALIZED (
  SELECT
    "c"."fact",
    "c"."units",
    CAST(FLOOR(100 * (
      LN(CAST("t"."n" AS DOUBLE) / "c"."units")
    )) AS BIGINT) AS "weight"
  FROM "common" AS "c"
  CROSS JOIN "total" AS "t"
), sized AS MATERIALIZED (
  SELECT
    "f"."unit",
    COUNT(*) AS "size"
  FROM "fact" AS "f"
  INNER JOIN "weighed" AS "w"
    ON "w"."fact" = "f"."fact"
  CROSS JOIN "total" AS "t"
  GROUP BY
    "f"."unit",
    "t"."n"
  HAVING
    COUNT(*) >= 3
    AND SUM("w"."weight") >= CAST(FLOOR(100 * (
      2 * LN(CAST("t"."n" AS DOUBLE)) + 3
    )) AS BIGINT)
), ranked AS MATERIALIZED (
  SELECT
    "f"."unit",
    "f"."fact",
    "z"."size",
    ROW_NUMBER() OVER (PARTITION BY "f"."unit" ORDER BY "c"."units", "f"."fact") AS "place"
  FROM "fact" AS "f"
  INNER JOIN "sized" AS "z"
    ON "z"."unit" = "f"."unit"
  INNER JOIN "weighed" AS "c"
    ON "c"."fact" = "f"."fact"
), prefix AS MATERIALIZED (
  SELECT
    "r"."unit",
    "r"."fact",
    "r"."size"
  FROM "ranked" AS "r"
  WHERE
    (
      100 * "r"."place"
    ) <= (
      20 * "r"."size" + 100
    )
)
SELECT
  COALESCE(CAST(SUM(CAST("u"."units" AS INT128) * "u"."units") AS INT128), 0) AS "n"
FROM (
  SELECT
    "p"."fact",
    COUNT(*) AS "units"
  FROM "prefix" AS "p"
  GROUP BY
    "p"."fact"
) AS "u";

-- spark
WITH fact AS (
  SELECT DISTINCT
    `f`.`unit`,
    `f`.`fact`
  FROM (
    SELECT
      `p`.`bib` AS `unit`,
      ARRAY('Token', '3', CAST(COUNT(*) AS STRING)) AS `fact`
    FROM `sqlrl`.`named_Token` AS `p`
    GROUP BY
      `p`.`bib`
    UNION ALL
    SELECT
      `p`.`bib` AS `unit`,
      ARRAY('Cites', '1', `p`.`bib_2`) AS `fact`
    FROM `sqlrl`.`named_Cites` AS `p`
  ) AS `f`
), placed AS (
  SELECT DISTINCT
    `a`.`example` AS `unit`,
    `a`.`part`
  FROM `sqlrl`.`audit_atom` AS `a`
  WHERE
    `a`.`run` = 7
), total AS (
  SELECT
    COUNT(DISTINCT `f`.`unit`) AS `n`
  FROM `fact` AS `f`
), common AS (
  SELECT
    `f`.`fact`,
    COUNT(*) AS `units`
  FROM `fact` AS `f`
  GROUP BY
    `f`.`fact`
), weighed AS (
  SELECT
    `c`.`fact`,
    `c`.`units`,
    CAST(FLOOR(100 * (
      LN(CAST(`t`.`n` AS DOUBLE) / `c`.`units`)
    )) AS BIGINT) AS `weight`
  FROM `common` AS `c`
  CROSS JOIN `total` AS `t`
), sized AS (
  SELECT
    `f`.`unit`,
    COUNT(*) AS `size`
  FROM `fact` AS `f`
  INNER JOIN `weighed` AS `w`
    ON `w`.`fact` = `f`.`fact`
  CROSS JOIN `total` AS `t`
  GROUP BY
    `f`.`unit`,
    `t`.`n`
  HAVING
    COUNT(*) >= 3
    AND SUM(`w`.`weight`) >= CAST(FLOOR(100 * (
      2 * LN(CAST(`t`.`n` AS DOUBLE)) + 3
    )) AS BIGINT)
), ranked AS (
  SELECT
    `f`.`unit`,
    `f`.`fact`,
    `z`.`size`,
    ROW_NUMBER() OVER (PARTITION BY `f`.`unit` ORDER BY `c`.`units` NULLS LAST, `f`.`fact` NULLS LAST) AS `place`
  FROM `fact` AS `f`
  INNER JOIN `sized` AS `z`
    ON `z`.`unit` = `f`.`unit`
  INNER JOIN `weighed` AS `c`
    ON `c`.`fact` = `f`.`fact`
), prefix AS (
  SELECT
    `r`.`unit`,
    `r`.`fact`,
    `r`.`size`
  FROM `ranked` AS `r`
  WHERE
    (
      100 * `r`.`place`
    ) <= (
      20 * `r`.`size` + 100
    )
)
SELECT
  COALESCE(
    COALESCE(
      TRY_SUM(CAST(CAST(`u`.`units` AS DECIMAL(38, 0)) * `u`.`units` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(CAST(`u`.`units` AS DECIMAL(38, 0)) * `u`.`units`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ),
    0
  ) AS `n`
FROM (
  SELECT
    `p`.`fact`,
    COUNT(*) AS `units`
  FROM `prefix` AS `p`
  GROUP BY
    `p`.`fact`
) AS `u`;
