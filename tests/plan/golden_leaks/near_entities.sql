-- duckdb
WITH fact AS MATERIALIZED (
  SELECT DISTINCT
    "f"."unit",
    "f"."fact"
  FROM (
    SELECT
      "p"."team" AS "unit",
      ['Lost', '1', "p"."team_2"] AS "fact"
    FROM "sqlrl"."named_Lost" AS "p"
    UNION ALL
    SELECT
      "p"."team_2" AS "unit",
      ['Lost', '2', "p"."team"] AS "fact"
    FROM "sqlrl"."named_Lost" AS "p"
    UNION ALL
    SELECT
      "p"."team" AS "unit",
      ['Coach', '1', "p"."person"] AS "fact"
    FROM "sqlrl"."named_Coach" AS "p"
    WHERE
      "p"."value" >= 0.5
  ) AS "f"
), placed AS MATERIALIZED (
  SELECT DISTINCT
    "u"."unit",
    "u"."part"
  FROM (
    SELECT
      "a"."arguments"[1] AS "unit",
      "a"."part"
    FROM "sqlrl"."audit_atom" AS "a"
    WHERE
      "a"."run" = 7
    UNION ALL
    SELECT
      "a"."arguments"[2] AS "unit",
      "a"."part"
    FROM "sqlrl"."audit_atom" AS "a"
    WHERE
      "a"."run" = 7
  ) AS "u"
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
      25 * "r"."size" + 100
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
      75 * "y"."size"
    )
    AND (
      100 * "y"."size"
    ) >= (
      75 * "x"."size"
    )
  INNER JOIN "placed" AS "p"
    ON "p"."unit" = "x"."unit"
  INNER JOIN "placed" AS "q"
    ON "q"."unit" = "y"."unit"
  INNER JOIN "sqlrl"."audit_seen" AS "s"
    ON "s"."run" = 7 AND "s"."test" = "p"."part" AND "s"."training" = "q"."part"
  LEFT JOIN (
    SELECT DISTINCT
      "o"."unit",
      "t"."test" AS "part"
    FROM "placed" AS "o"
    INNER JOIN "sqlrl"."audit_seen" AS "t"
      ON "t"."run" = 7 AND "t"."training" = "o"."part"
  ) AS "k"
    ON "k"."unit" = "x"."unit" AND "k"."part" = "p"."part"
  WHERE
    "k"."unit" IS NULL
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
      75 * (
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
      `p`.`team` AS `unit`,
      ARRAY('Lost', '1', `p`.`team_2`) AS `fact`
    FROM `sqlrl`.`named_Lost` AS `p`
    UNION ALL
    SELECT
      `p`.`team_2` AS `unit`,
      ARRAY('Lost', '2', `p`.`team`) AS `fact`
    FROM `sqlrl`.`named_Lost` AS `p`
    UNION ALL
    SELECT
      `p`.`team` AS `unit`,
      ARRAY('Coach', '1', `p`.`person`) AS `fact`
    FROM `sqlrl`.`named_Coach` AS `p`
    WHERE
      `p`.`value` >= 0.5
  ) AS `f`
), placed AS (
  SELECT DISTINCT
    `u`.`unit`,
    `u`.`part`
  FROM (
    SELECT
      ELEMENT_AT(`a`.`arguments`, 1) AS `unit`,
      `a`.`part`
    FROM `sqlrl`.`audit_atom` AS `a`
    WHERE
      `a`.`run` = 7
    UNION ALL
    SELECT
      ELEMENT_AT(`a`.`arguments`, 2) AS `unit`,
      `a`.`part`
    FROM `sqlrl`.`audit_atom` AS `a`
    WHERE
      `a`.`run` = 7
  ) AS `u`
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
      25 * `r`.`size` + 100
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
      75 * `y`.`size`
    )
    AND (
      100 * `y`.`size`
    ) >= (
      75 * `x`.`size`
    )
  INNER JOIN `placed` AS `p`
    ON `p`.`unit` = `x`.`unit`
  INNER JOIN `placed` AS `q`
    ON `q`.`unit` = `y`.`unit`
  INNER JOIN `sqlrl`.`audit_seen` AS `s`
    ON `s`.`run` = 7 AND `s`.`test` = `p`.`part` AND `s`.`training` = `q`.`part`
  LEFT JOIN (
    SELECT DISTINCT
      `o`.`unit`,
      `t`.`test` AS `part`
    FROM `placed` AS `o`
    INNER JOIN `sqlrl`.`audit_seen` AS `t`
      ON `t`.`run` = 7 AND `t`.`training` = `o`.`part`
  ) AS `k`
    ON `k`.`unit` = `x`.`unit` AND `k`.`part` = `p`.`part`
  WHERE
    `k`.`unit` IS NULL
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
      75 * (
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
