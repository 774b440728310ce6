-- flips in: 1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))

-- duckdb
WITH "c0" AS (
  SELECT
    "a"."atom",
    "a"."a0",
    CASE WHEN NOT "w"."atom" IS NULL THEN (
      -1
    ) ELSE 1 END AS "change"
  FROM "memory"."sqlrl"."atom_Cancer" AS "a"
  LEFT JOIN "memory"."sqlrl"."scratch_world" AS "w"
    ON "w"."atom" = "a"."atom"
), "c1" AS (
  SELECT
    "c"."atom",
    "c"."x0",
    CASE WHEN COALESCE("w"."n", 0) > 0 THEN (
      -1
    ) ELSE 1 END AS "change"
  FROM (
    SELECT
      "m"."atom",
      "m"."x0",
      SUM("m"."n") AS "n"
    FROM (
      SELECT
        "g3f0"."atom" AS "atom",
        "g3t1"."a0" AS "x0",
        1 * "g3f0"."change" AS "n"
      FROM "c0" AS "g3f0"
      INNER JOIN "memory"."sqlrl"."fact_Friends" AS "g3t1"
        ON "g3t1"."a1" = "g3f0"."a0"
    ) AS "m"
    GROUP BY
      "m"."atom",
      "m"."x0"
  ) AS "c"
  LEFT JOIN (
    SELECT
      "m"."x0",
      SUM("m"."n") AS "n"
    FROM (
      SELECT
        "g3t0"."a0" AS "x0",
        1 AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "g3t0"
      INNER JOIN (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
        JOIN "memory"."sqlrl"."scratch_world" AS "w"
          ON "w"."atom" = "a"."atom"
      ) AS "g3t1"
        ON "g3t1"."a0" = "g3t0"."a1"
    ) AS "m"
    GROUP BY
      "m"."x0"
  ) AS "w"
    ON "w"."x0" = "c"."x0"
  WHERE
    (
      COALESCE("w"."n", 0) > 0
    ) <> (
      COALESCE("w"."n", 0) + "c"."n" > 0
    )
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
    SELECT DISTINCT
      "wt0"."a0" AS "x0"
    FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
    INNER JOIN (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      JOIN "memory"."sqlrl"."scratch_world" AS "w"
        ON "w"."atom" = "a"."atom"
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
  ) AS "f1"
  INNER JOIN "c0" AS "f0"
    ON "f0"."a0" = "f1"."x0"
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
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f4"
  INNER JOIN "c1" AS "f2"
    ON "f2"."x0" = "f4"."a0"
  GROUP BY
    "f2"."atom"
  UNION ALL
  SELECT
    "f5"."atom" AS "atom",
    CAST(SUM("f6"."change" * "f5"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "c1" AS "f6"
  INNER JOIN "c0" AS "f5"
    ON "f5"."atom" = "f6"."atom" AND "f5"."a0" = "f6"."x0"
  GROUP BY
    "f5"."atom"
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
    CASE WHEN NOT `w`.`atom` IS NULL THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
  LEFT JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
    ON `w`.`atom` = `a`.`atom`
), `c1` AS (
  SELECT
    `c`.`atom`,
    `c`.`x0`,
    CASE WHEN COALESCE(`w`.`n`, 0) > 0 THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM (
    SELECT
      `m`.`atom`,
      `m`.`x0`,
      SUM(`m`.`n`) AS `n`
    FROM (
      SELECT
        `g3f0`.`atom` AS `atom`,
        `g3t1`.`a0` AS `x0`,
        1 * `g3f0`.`change` AS `n`
      FROM `c0` AS `g3f0`
      INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `g3t1`
        ON `g3t1`.`a1` = `g3f0`.`a0`
    ) AS `m`
    GROUP BY
      `m`.`atom`,
      `m`.`x0`
  ) AS `c`
  LEFT JOIN (
    SELECT
      `m`.`x0`,
      SUM(`m`.`n`) AS `n`
    FROM (
      SELECT
        `g3t0`.`a0` AS `x0`,
        1 AS `n`
      FROM `memory`.`sqlrl`.`fact_Friends` AS `g3t0`
      INNER JOIN (
        SELECT
          `a`.`a0`
        FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
        JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
          ON `w`.`atom` = `a`.`atom`
      ) AS `g3t1`
        ON `g3t1`.`a0` = `g3t0`.`a1`
    ) AS `m`
    GROUP BY
      `m`.`x0`
  ) AS `w`
    ON `w`.`x0` = `c`.`x0`
  WHERE
    (
      COALESCE(`w`.`n`, 0) > 0
    ) <> (
      COALESCE(`w`.`n`, 0) + `c`.`n` > 0
    )
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
    SELECT DISTINCT
      `wt0`.`a0` AS `x0`
    FROM `memory`.`sqlrl`.`fact_Friends` AS `wt0`
    INNER JOIN (
      SELECT
        `a`.`a0`
      FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
      JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
        ON `w`.`atom` = `a`.`atom`
    ) AS `wt1`
      ON `wt1`.`a0` = `wt0`.`a1`
  ) AS `f1`
  INNER JOIN `c0` AS `f0`
    ON `f0`.`a0` = `f1`.`x0`
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
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f4`
  INNER JOIN `c1` AS `f2`
    ON `f2`.`x0` = `f4`.`a0`
  GROUP BY
    `f2`.`atom`
  UNION ALL
  SELECT
    `f5`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f6`.`change` * `f5`.`change` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f6`.`change` * `f5`.`change` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c1` AS `f6`
  INNER JOIN `c0` AS `f5`
    ON `f5`.`atom` = `f6`.`atom` AND `f5`.`a0` = `f6`.`x0`
  GROUP BY
    `f5`.`atom`
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
