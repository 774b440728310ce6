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
), candidate AS MATERIALIZED (
  SELECT DISTINCT
    "x"."unit",
    "y"."unit" AS "twin"
  FROM "prefix" AS "x"
  INNER JOIN "prefix" AS "y"
    ON "y"."fact" = "x"."fact"
    AND "y"."unit" <> "x"."unit"
    AND (
      100 * "x"."size"
    ) >= (
      80 * "y"."size"
    )
    AND (
      100 * "y"."size"
    ) >= (
      80 * "x"."size"
    )
  INNER JOIN "placed" AS "p"
    ON "p"."unit" = "x"."unit"
  INNER JOIN "placed" AS "q"
    ON "q"."unit" = "y"."unit"
  INNER JOIN "sqlrl"."audit_seen" AS "s"
    ON "s"."run" = 7 AND "s"."test" = "p"."part" AND "s"."training" = "q"."part"
), "similar" AS MATERIALIZED (
  SELECT
    "c"."unit",
    "c"."twin"
  FROM "candidate" AS "c"
  INNER JOIN "fact" AS "f"
    ON "f"."unit" = "c"."unit"
  INNER JOIN "fact" AS "g"
    ON "g"."unit" = "c"."twin" AND "g"."fact" = "f"."fact"
  INNER JOIN "sized" AS "x"
    ON "x"."unit" = "c"."unit"
  INNER JOIN "sized" AS "y"
    ON "y"."unit" = "c"."twin"
  GROUP BY
    "c"."unit",
    "c"."twin",
    "x"."size",
    "y"."size"
  HAVING
    (
      100 * COUNT(*)
    ) >= (
      80 * (
        "x"."size" + "y"."size" - COUNT(*)
      )
    )
)
SELECT
  "m"."unit",
  MIN("m"."twin") AS "twin",
  COUNT(*) AS "twins"
FROM "similar" AS "m"
GROUP BY
  "m"."unit"
ORDER BY
  "m"."unit";

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
), candidate AS (
  SELECT DISTINCT
    `x`.`unit`,
    `y`.`unit` AS `twin`
  FROM `prefix` AS `x`
  INNER JOIN `prefix` AS `y`
    ON `y`.`fact` = `x`.`fact`
    AND `y`.`unit` <> `x`.`unit`
    AND (
      100 * `x`.`size`
    ) >= (
      80 * `y`.`size`
    )
    AND (
      100 * `y`.`size`
    ) >= (
      80 * `x`.`size`
    )
  INNER JOIN `placed` AS `p`
    ON `p`.`unit` = `x`.`unit`
  INNER JOIN `placed` AS `q`
    ON `q`.`unit` = `y`.`unit`
  INNER JOIN `sqlrl`.`audit_seen` AS `s`
    ON `s`.`run` = 7 AND `s`.`test` = `p`.`part` AND `s`.`training` = `q`.`part`
), similar AS (
  SELECT
    `c`.`unit`,
    `c`.`twin`
  FROM `candidate` AS `c`
  INNER JOIN `fact` AS `f`
    ON `f`.`unit` = `c`.`unit`
  INNER JOIN `fact` AS `g`
    ON `g`.`unit` = `c`.`twin` AND `g`.`fact` = `f`.`fact`
  INNER JOIN `sized` AS `x`
    ON `x`.`unit` = `c`.`unit`
  INNER JOIN `sized` AS `y`
    ON `y`.`unit` = `c`.`twin`
  GROUP BY
    `c`.`unit`,
    `c`.`twin`,
    `x`.`size`,
    `y`.`size`
  HAVING
    (
      100 * COUNT(*)
    ) >= (
      80 * (
        `x`.`size` + `y`.`size` - COUNT(*)
      )
    )
)
SELECT
  `m`.`unit`,
  MIN(`m`.`twin`) AS `twin`,
  COUNT(*) AS `twins`
FROM `similar` AS `m`
GROUP BY
  `m`.`unit`
ORDER BY
  `m`.`unit`;
