-- duckdb
SELECT
  "b"."component",
  "b"."key",
  "b"."n"
FROM (
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    CAST(SUM("f"."facts") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  CROSS JOIN (
    SELECT
      "g"."a0",
      COUNT(*) AS "facts"
    FROM "db"."main"."three" AS "g"
    WHERE
      "g"."a2" = "g"."a1"
    GROUP BY
      "g"."a0"
  ) AS "f"
  INNER JOIN "db"."main"."keys_0" AS "k"
    ON "k"."h0" = "f"."a0"
  WHERE
    "r"."pattern" = 0
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    CAST(SUM("f"."facts") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN (
    SELECT
      "g"."a1",
      COUNT(*) AS "facts"
    FROM "db"."main"."three" AS "g"
    GROUP BY
      "g"."a1"
  ) AS "f"
    ON "f"."a1" = "p0"."places"["r"."x1"]
  WHERE
    "r"."pattern" = 1
  GROUP BY
    1,
    2
) AS "b"
ORDER BY
  "b"."component",
  "b"."key";

-- spark
SELECT
  `b`.`component`,
  `b`.`key`,
  `b`.`n`
FROM (
  SELECT
    `r`.`component` AS `component`,
    `k`.`key` AS `key`,
    CAST(SUM(`f`.`facts`) AS BIGINT) AS `n`
  FROM `db`.`main`.`layer` AS `r`
  CROSS JOIN (
    SELECT
      `g`.`a0`,
      COUNT(*) AS `facts`
    FROM `db`.`main`.`three` AS `g`
    WHERE
      `g`.`a2` = `g`.`a1`
    GROUP BY
      `g`.`a0`
  ) AS `f`
  INNER JOIN `db`.`main`.`keys_0` AS `k`
    ON `k`.`h0` = `f`.`a0`
  WHERE
    `r`.`pattern` = 0
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    `r`.`component` AS `component`,
    `p0`.`key` AS `key`,
    CAST(SUM(`f`.`facts`) AS BIGINT) AS `n`
  FROM `db`.`main`.`layer` AS `r`
  INNER JOIN `db`.`main`.`wanted` AS `p0`
    ON `p0`.`component` = `r`.`p0`
  INNER JOIN (
    SELECT
      `g`.`a1`,
      COUNT(*) AS `facts`
    FROM `db`.`main`.`three` AS `g`
    GROUP BY
      `g`.`a1`
  ) AS `f`
    ON `f`.`a1` = ELEMENT_AT(`p0`.`places`, `r`.`x1`)
  WHERE
    `r`.`pattern` = 1
  GROUP BY
    1,
    2
) AS `b`
ORDER BY
  `b`.`component` NULLS LAST,
  `b`.`key` NULLS LAST;
