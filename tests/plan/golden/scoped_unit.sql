-- scoped: 1 Cancer(x)

-- duckdb
SELECT
  "g"."l0",
  "g"."multiplicity"
FROM (
  SELECT
    "o0"."atom" AS "l0",
    1 AS "multiplicity"
  FROM "memory"."sqlrl"."atom_Cancer" AS "o0"
  UNION ALL
  SELECT
    0 AS "l0",
    "q"."n" AS "multiplicity"
  FROM (
    SELECT
      CAST(SUM("n") AS INT128) AS "n"
    FROM (
      SELECT
        CAST(3 AS INT128) AS "n"
      UNION ALL
      SELECT
        CAST(SUM((
          -1
        )) AS INT128) AS "n"
      FROM (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      ) AS "f0"
    ) AS "terms"
  ) AS "q"
  WHERE
    "q"."n" > 0
) AS "g";

-- spark
SELECT
  `g`.`l0`,
  `g`.`multiplicity`
FROM (
  SELECT
    `o0`.`atom` AS `l0`,
    1 AS `multiplicity`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `o0`
  UNION ALL
  SELECT
    0 AS `l0`,
    `q`.`n` AS `multiplicity`
  FROM (
    SELECT
      COALESCE(
        TRY_SUM(CAST(`n` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`n`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `n`
    FROM (
      SELECT
        CAST(3 AS DECIMAL(38, 0)) AS `n`
      UNION ALL
      SELECT
        COALESCE(
          TRY_SUM(CAST((
            -1
          ) AS DECIMAL(38, 0))),
          CASE
            WHEN COUNT((
              -1
            )) > 0
            THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
          END
        ) AS `n`
      FROM (
        SELECT
          `a`.`a0`
        FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
      ) AS `f0`
    ) AS `terms`
  ) AS `q`
  WHERE
    `q`.`n` > 0
) AS `g`;
