-- duckdb
WITH "wanted" AS (
  SELECT
    "b".*
  FROM "db"."main"."bindings" AS "b"
  WHERE
    "b"."component" IN (
      SELECT
        "q"."p0" AS "component"
      FROM "db"."main"."layer" AS "q"
    )
), "constants0" AS MATERIALIZED (
  SELECT
    "r"."component",
    "r"."p0",
    "f"."a0",
    "f"."a1"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a1" = "r"."x1"
  WHERE
    "r"."pattern" = 0
), "constants1" AS MATERIALIZED (
  SELECT
    "r"."component",
    "r"."p0",
    "f"."example",
    "f"."a0",
    "f"."a1"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."says" AS "f"
    ON "f"."a1" = "r"."x2"
  WHERE
    "r"."pattern" = 1
)
SELECT
  "b"."component",
  "b"."key",
  "b"."h0",
  "b"."h1",
  "b"."h2",
  "b"."places"
FROM (
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    "p0"."h0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    CAST(NULL AS INT) AS "h2",
    "p0"."places" AS "places"
  FROM "constants0" AS "r"
  INNER JOIN "wanted" AS "p0"
    ON "p0"."component" = "r"."p0" AND "r"."a0" = "p0"."places"[2]
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    "p0"."h0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    "r"."example" AS "h2",
    "p0"."places" AS "places"
  FROM "constants1" AS "r"
  INNER JOIN "wanted" AS "p0"
    ON "p0"."component" = "r"."p0" AND "r"."a0" = "p0"."places"[1]
  INNER JOIN "db"."main"."keys_02" AS "k"
    ON "k"."h0" = "p0"."h0" AND "k"."h2" = "r"."example"
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    "p0"."h0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    CAST(NULL AS INT) AS "h2",
    "p0"."places" AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."a1" = "r"."x1"
  WHERE
    "r"."pattern" = 2
) AS "b"
LIMIT 100;

-- spark
WITH `wanted` AS (
  SELECT
    `b`.*
  FROM `db`.`main`.`bindings` AS `b`
  WHERE
    `b`.`component` IN (
      SELECT
        `q`.`p0` AS `component`
      FROM `db`.`main`.`layer` AS `q`
    )
), `constants0` AS (
  SELECT
    `r`.`component`,
    `r`.`p0`,
    `f`.`a0`,
    `f`.`a1`
  FROM `db`.`main`.`layer` AS `r`
  INNER JOIN `db`.`main`.`friends` AS `f`
    ON `f`.`a1` = `r`.`x1`
  WHERE
    `r`.`pattern` = 0
), `constants1` AS (
  SELECT
    `r`.`component`,
    `r`.`p0`,
    `f`.`example`,
    `f`.`a0`,
    `f`.`a1`
  FROM `db`.`main`.`layer` AS `r`
  INNER JOIN `db`.`main`.`says` AS `f`
    ON `f`.`a1` = `r`.`x2`
  WHERE
    `r`.`pattern` = 1
)
SELECT
  `b`.`component`,
  `b`.`key`,
  `b`.`h0`,
  `b`.`h1`,
  `b`.`h2`,
  `b`.`places`
FROM (
  SELECT
    `r`.`component` AS `component`,
    `p0`.`key` AS `key`,
    `p0`.`h0` AS `h0`,
    CAST(NULL AS INT) AS `h1`,
    CAST(NULL AS INT) AS `h2`,
    `p0`.`places` AS `places`
  FROM `constants0` AS `r`
  INNER JOIN `wanted` AS `p0`
    ON `p0`.`component` = `r`.`p0` AND `r`.`a0` = ELEMENT_AT(`p0`.`places`, 2)
  UNION ALL
  SELECT
    `r`.`component` AS `component`,
    `k`.`key` AS `key`,
    `p0`.`h0` AS `h0`,
    CAST(NULL AS INT) AS `h1`,
    `r`.`example` AS `h2`,
    `p0`.`places` AS `places`
  FROM `constants1` AS `r`
  INNER JOIN `wanted` AS `p0`
    ON `p0`.`component` = `r`.`p0` AND `r`.`a0` = ELEMENT_AT(`p0`.`places`, 1)
  INNER JOIN `db`.`main`.`keys_02` AS `k`
    ON `k`.`h0` = `p0`.`h0` AND `k`.`h2` = `r`.`example`
  UNION ALL
  SELECT
    `r`.`component` AS `component`,
    `p0`.`key` AS `key`,
    `p0`.`h0` AS `h0`,
    CAST(NULL AS INT) AS `h1`,
    CAST(NULL AS INT) AS `h2`,
    `p0`.`places` AS `places`
  FROM `db`.`main`.`layer` AS `r`
  INNER JOIN `wanted` AS `p0`
    ON `p0`.`component` = `r`.`p0`
  INNER JOIN `db`.`main`.`friends` AS `f`
    ON `f`.`a0` = ELEMENT_AT(`p0`.`places`, `r`.`x0`) AND `f`.`a1` = `r`.`x1`
  WHERE
    `r`.`pattern` = 2
) AS `b`
LIMIT 100;
