-- flips: Token(+w, p, c) => InField(c, +f, p)

-- duckdb
WITH "c0" AS (
  SELECT
    "a"."atom",
    "a"."a0",
    "a"."a1",
    "a"."a2",
    CASE WHEN "a"."truth" THEN (
      -1
    ) ELSE 1 END AS "change"
  FROM "memory"."sqlrl"."atom_InField" AS "a"
)
SELECT
  "clause",
  "atom",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "p"."clause" AS "clause",
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f1"
  INNER JOIN "c0" AS "f0"
    ON "f0"."a0" = "f1"."a2" AND "f0"."a2" = "f1"."a1"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f0"."a1" AND "p"."k1" = "f1"."a0"
  GROUP BY
    "p"."clause",
    "f0"."atom"
) AS "terms"
GROUP BY
  "clause",
  "atom"
HAVING
  CAST(SUM("terms"."n") AS INT128) <> 0;

-- spark
WITH `c0` AS (
  SELECT
    `a`.`atom`,
    `a`.`a0`,
    `a`.`a1`,
    `a`.`a2`,
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_InField` AS `a`
)
SELECT
  `clause`,
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
    `p`.`clause` AS `clause`,
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
  FROM `memory`.`sqlrl`.`fact_Token` AS `f1`
  INNER JOIN `c0` AS `f0`
    ON `f0`.`a0` = `f1`.`a2` AND `f0`.`a2` = `f1`.`a1`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f0`.`a1` AND `p`.`k1` = `f1`.`a0`
  GROUP BY
    `p`.`clause`,
    `f0`.`atom`
) AS `terms`
GROUP BY
  `clause`,
  `atom`
HAVING
  COALESCE(
    TRY_SUM(CAST(`terms`.`n` AS DECIMAL(38, 0))),
    CASE
      WHEN COUNT(`terms`.`n`) > 0
      THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
    END
  ) <> 0;
