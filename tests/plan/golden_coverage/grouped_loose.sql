-- duckdb
SELECT
  "b"."component",
  "b"."key",
  "b"."n"
FROM (
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN (
    SELECT
      "p"."component",
      "f"."a0",
      SUM("p"."n") AS "n"
    FROM (
      SELECT
        "r"."component" AS "component",
        "w"."places"["r"."x1"] AS "x1",
        COUNT(*) AS "n"
      FROM "db"."main"."layer" AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p1"
      WHERE
        "r"."pattern" = 0
      GROUP BY
        1,
        2
    ) AS "p"
    INNER JOIN "db"."main"."friends" AS "f"
      ON "f"."a1" = "p"."x1"
    GROUP BY
      "p"."component",
      "f"."a0"
  ) AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."component" = "r"."component"
  WHERE
    "r"."pattern" = 0
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN (
    SELECT
      "p"."component",
      "f"."a1",
      SUM("p"."n") AS "n"
    FROM (
      SELECT
        "r"."component" AS "component",
        "w"."places"["r"."x0"] AS "x0",
        COUNT(*) AS "n"
      FROM "db"."main"."layer" AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p0"
      WHERE
        "r"."pattern" = 1
      GROUP BY
        1,
        2
    ) AS "p"
    INNER JOIN "db"."main"."friends" AS "f"
      ON "f"."a0" = "p"."x0"
    GROUP BY
      "p"."component",
      "f"."a1"
  ) AS "f"
    ON "f"."component" = "r"."component"
  INNER JOIN "db"."main"."keys_1" AS "k"
    ON "k"."h1" = "f"."a1"
  WHERE
    "r"."pattern" = 1
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p1"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p1"
    ON "p1"."component" = "r"."p1"
  INNER JOIN (
    SELECT
      "p"."component",
      "f"."a1",
      SUM("p"."n" * "f"."n") AS "n"
    FROM (
      SELECT
        "r"."component" AS "component",
        "w"."places"["r"."x2"] AS "x2",
        COUNT(*) AS "n"
      FROM "db"."main"."layer" AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p2"
      WHERE
        "r"."pattern" = 2
      GROUP BY
        1,
        2
    ) AS "p"
    INNER JOIN (
      SELECT
        "p"."component",
        "f"."a1",
        "f"."a2",
        SUM("p"."n") AS "n"
      FROM (
        SELECT
          "r"."component" AS "component",
          "w"."places"["r"."x0"] AS "x0",
          COUNT(*) AS "n"
        FROM "db"."main"."layer" AS "r"
        INNER JOIN "db"."main"."wanted" AS "w"
          ON "w"."component" = "r"."p0"
        WHERE
          "r"."pattern" = 2
        GROUP BY
          1,
          2
      ) AS "p"
      INNER JOIN "db"."main"."three" AS "f"
        ON "f"."a0" = "p"."x0"
      GROUP BY
        "p"."component",
        "f"."a1",
        "f"."a2"
    ) AS "f"
      ON "f"."a2" = "p"."x2" AND "f"."component" = "p"."component"
    GROUP BY
      "p"."component",
      "f"."a1"
  ) AS "f"
    ON "f"."a1" = "p1"."places"["r"."x1"] AND "f"."component" = "r"."component"
  WHERE
    "r"."pattern" = 2
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    0 AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN (
    SELECT
      "p"."component",
      SUM("p"."n") AS "n"
    FROM (
      SELECT
        "r"."component" AS "component",
        "w"."places"["r"."x1"] AS "x1",
        "r"."x2" AS "x2",
        COUNT(*) AS "n"
      FROM "db"."main"."layer" AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p0"
      WHERE
        "r"."pattern" = 3
      GROUP BY
        1,
        2,
        3
    ) AS "p"
    INNER JOIN "db"."main"."three" AS "f"
      ON "f"."a1" = "p"."x1" AND "f"."a2" = "p"."x2"
    GROUP BY
      "p"."component"
  ) AS "f"
    ON "f"."component" = "r"."component"
  WHERE
    "r"."pattern" = 3
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
    `p0`.`key` AS `key`,
    CAST(SUM(`f`.`n`) AS BIGINT) AS `n`
  FROM `db`.`main`.`layer` AS `r`
  INNER JOIN `db`.`main`.`wanted` AS `p0`
    ON `p0`.`component` = `r`.`p0`
  INNER JOIN (
    SELECT
      `p`.`component`,
      `f`.`a0`,
      SUM(`p`.`n`) AS `n`
    FROM (
      SELECT
        `r`.`component` AS `component`,
        ELEMENT_AT(`w`.`places`, `r`.`x1`) AS `x1`,
        COUNT(*) AS `n`
      FROM `db`.`main`.`layer` AS `r`
      INNER JOIN `db`.`main`.`wanted` AS `w`
        ON `w`.`component` = `r`.`p1`
      WHERE
        `r`.`pattern` = 0
      GROUP BY
        1,
        2
    ) AS `p`
    INNER JOIN `db`.`main`.`friends` AS `f`
      ON `f`.`a1` = `p`.`x1`
    GROUP BY
      `p`.`component`,
      `f`.`a0`
  ) AS `f`
    ON `f`.`a0` = ELEMENT_AT(`p0`.`places`, `r`.`x0`)
    AND `f`.`component` = `r`.`component`
  WHERE
    `r`.`pattern` = 0
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    `r`.`component` AS `component`,
    `k`.`key` AS `key`,
    CAST(SUM(`f`.`n`) AS BIGINT) AS `n`
  FROM `db`.`main`.`layer` AS `r`
  INNER JOIN (
    SELECT
      `p`.`component`,
      `f`.`a1`,
      SUM(`p`.`n`) AS `n`
    FROM (
      SELECT
        `r`.`component` AS `component`,
        ELEMENT_AT(`w`.`places`, `r`.`x0`) AS `x0`,
        COUNT(*) AS `n`
      FROM `db`.`main`.`layer` AS `r`
      INNER JOIN `db`.`main`.`wanted` AS `w`
        ON `w`.`component` = `r`.`p0`
      WHERE
        `r`.`pattern` = 1
      GROUP BY
        1,
        2
    ) AS `p`
    INNER JOIN `db`.`main`.`friends` AS `f`
      ON `f`.`a0` = `p`.`x0`
    GROUP BY
      `p`.`component`,
      `f`.`a1`
  ) AS `f`
    ON `f`.`component` = `r`.`component`
  INNER JOIN `db`.`main`.`keys_1` AS `k`
    ON `k`.`h1` = `f`.`a1`
  WHERE
    `r`.`pattern` = 1
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    `r`.`component` AS `component`,
    `p1`.`key` AS `key`,
    CAST(SUM(`f`.`n`) AS BIGINT) AS `n`
  FROM `db`.`main`.`layer` AS `r`
  INNER JOIN `db`.`main`.`wanted` AS `p1`
    ON `p1`.`component` = `r`.`p1`
  INNER JOIN (
    SELECT
      `p`.`component`,
      `f`.`a1`,
      SUM(`p`.`n` * `f`.`n`) AS `n`
    FROM (
      SELECT
        `r`.`component` AS `component`,
        ELEMENT_AT(`w`.`places`, `r`.`x2`) AS `x2`,
        COUNT(*) AS `n`
      FROM `db`.`main`.`layer` AS `r`
      INNER JOIN `db`.`main`.`wanted` AS `w`
        ON `w`.`component` = `r`.`p2`
      WHERE
        `r`.`pattern` = 2
      GROUP BY
        1,
        2
    ) AS `p`
    INNER JOIN (
      SELECT
        `p`.`component`,
        `f`.`a1`,
        `f`.`a2`,
        SUM(`p`.`n`) AS `n`
      FROM (
        SELECT
          `r`.`component` AS `component`,
          ELEMENT_AT(`w`.`places`, `r`.`x0`) AS `x0`,
          COUNT(*) AS `n`
        FROM `db`.`main`.`layer` AS `r`
        INNER JOIN `db`.`main`.`wanted` AS `w`
          ON `w`.`component` = `r`.`p0`
        WHERE
          `r`.`pattern` = 2
        GROUP BY
          1,
          2
      ) AS `p`
      INNER JOIN `db`.`main`.`three` AS `f`
        ON `f`.`a0` = `p`.`x0`
      GROUP BY
        `p`.`component`,
        `f`.`a1`,
        `f`.`a2`
    ) AS `f`
      ON `f`.`a2` = `p`.`x2` AND `f`.`component` = `p`.`component`
    GROUP BY
      `p`.`component`,
      `f`.`a1`
  ) AS `f`
    ON `f`.`a1` = ELEMENT_AT(`p1`.`places`, `r`.`x1`)
    AND `f`.`component` = `r`.`component`
  WHERE
    `r`.`pattern` = 2
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    `r`.`component` AS `component`,
    0 AS `key`,
    CAST(SUM(`f`.`n`) AS BIGINT) AS `n`
  FROM `db`.`main`.`layer` AS `r`
  INNER JOIN (
    SELECT
      `p`.`component`,
      SUM(`p`.`n`) AS `n`
    FROM (
      SELECT
        `r`.`component` AS `component`,
        ELEMENT_AT(`w`.`places`, `r`.`x1`) AS `x1`,
        `r`.`x2` AS `x2`,
        COUNT(*) AS `n`
      FROM `db`.`main`.`layer` AS `r`
      INNER JOIN `db`.`main`.`wanted` AS `w`
        ON `w`.`component` = `r`.`p0`
      WHERE
        `r`.`pattern` = 3
      GROUP BY
        1,
        2,
        3
    ) AS `p`
    INNER JOIN `db`.`main`.`three` AS `f`
      ON `f`.`a1` = `p`.`x1` AND `f`.`a2` = `p`.`x2`
    GROUP BY
      `p`.`component`
  ) AS `f`
    ON `f`.`component` = `r`.`component`
  WHERE
    `r`.`pattern` = 3
  GROUP BY
    1,
    2
) AS `b`
ORDER BY
  `b`.`component` NULLS LAST,
  `b`.`key` NULLS LAST;
