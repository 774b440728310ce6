-- flips in: InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q) v p = q

-- duckdb
WITH "c0" AS (
  SELECT
    "a"."atom",
    "a"."a0",
    "a"."a1",
    "a"."a2",
    CASE WHEN NOT "w"."atom" IS NULL THEN (
      -1
    ) ELSE 1 END AS "change"
  FROM "memory"."sqlrl"."atom_InField" AS "a"
  LEFT JOIN "memory"."sqlrl"."scratch_world" AS "w"
    ON "w"."atom" = "a"."atom"
), "m1" AS (
  SELECT
    "d2"."example" AS "s0",
    "f1"."a0" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f1"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d2"
    ON "d2"."id" = "f1"."a1"
  GROUP BY
    "d2"."example",
    "f1"."a0"
)
SELECT
  "clause",
  "atom",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "p"."clause" AS "clause",
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * "m1"."n") AS INT128) AS "n"
  FROM "c0" AS "f0"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f0"."a1"
  INNER JOIN "m1" AS "m1"
    ON "m1"."s0" = "f0"."a0" AND "m1"."s1" = "f0"."a2"
  GROUP BY
    "p"."clause",
    "f0"."atom"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f3"
  INNER JOIN (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f4"
    ON "f4"."a2" = "f3"."a1"
  INNER JOIN "c0" AS "f0"
    ON "f0"."a0" = "f4"."a0" AND "f0"."a2" = "f3"."a0"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f0"."a1" AND "p"."k1" = "f4"."a1"
  GROUP BY
    "p"."clause",
    "f0"."atom"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f5"
  INNER JOIN "c0" AS "f0"
    ON "f0"."a2" = "f5"."a0"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d6"
    ON "d6"."example" = "f0"."a0" AND "d6"."id" = "f5"."a0"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f0"."a1"
  WHERE
    "f5"."a1" = "f5"."a0"
  GROUP BY
    "p"."clause",
    "f0"."atom"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change") AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f7"
  INNER JOIN (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f8"
    ON "f8"."a2" = "f7"."a0"
  INNER JOIN "c0" AS "f0"
    ON "f0"."a0" = "f8"."a0" AND "f0"."a2" = "f7"."a0"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f0"."a1" AND "p"."k1" = "f8"."a1"
  WHERE
    "f7"."a1" = "f7"."a0"
  GROUP BY
    "p"."clause",
    "f0"."atom"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f9"."atom" AS "atom",
    CAST(SUM("f9"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f10"
  INNER JOIN "memory"."sqlrl"."fact_Next" AS "f11"
    ON "f11"."a0" = "f10"."a2"
  INNER JOIN "c0" AS "f9"
    ON "f9"."a0" = "f10"."a0" AND "f9"."a2" = "f11"."a1"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f10"."a1" AND "p"."k1" = "f9"."a1"
  GROUP BY
    "p"."clause",
    "f9"."atom"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f9"."atom" AS "atom",
    CAST(SUM("f9"."change") AS INT128) AS "n"
  FROM (
    SELECT
      "a"."a0",
      "a"."a1",
      "a"."a2"
    FROM "memory"."sqlrl"."atom_InField" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f12"
  INNER JOIN "memory"."sqlrl"."fact_Next" AS "f13"
    ON "f13"."a0" = "f12"."a2" AND "f13"."a1" = "f12"."a2"
  INNER JOIN "c0" AS "f9"
    ON "f9"."a0" = "f12"."a0" AND "f9"."a2" = "f12"."a2"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f12"."a1" AND "p"."k1" = "f9"."a1"
  GROUP BY
    "p"."clause",
    "f9"."atom"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f14"."atom" AS "atom",
    CAST(SUM((
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f15"
  INNER JOIN "c0" AS "f14"
    ON "f14"."a2" = "f15"."a0"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f14"."a1" AND "p"."k1" = "f14"."a1"
  WHERE
    "f15"."a1" = "f15"."a0"
  GROUP BY
    "p"."clause",
    "f14"."atom"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f14"."atom" AS "atom",
    CAST(SUM(1) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f16"
  INNER JOIN "c0" AS "f14"
    ON "f14"."a2" = "f16"."a0"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f14"."a1" AND "p"."k1" = "f14"."a1"
  WHERE
    "f16"."a1" = "f16"."a0"
  GROUP BY
    "p"."clause",
    "f14"."atom"
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
    CASE WHEN NOT `w`.`atom` IS NULL THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_InField` AS `a`
  LEFT JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
    ON `w`.`atom` = `a`.`atom`
), `m1` AS (
  SELECT
    `d2`.`example` AS `s0`,
    `f1`.`a0` AS `s1`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Next` AS `f1`
  INNER JOIN `memory`.`sqlrl`.`domain_position` AS `d2`
    ON `d2`.`id` = `f1`.`a1`
  GROUP BY
    `d2`.`example`,
    `f1`.`a0`
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
      TRY_SUM(CAST(`f0`.`change` * `m1`.`n` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f0`.`change` * `m1`.`n`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f0`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f0`.`a1`
  INNER JOIN `m1` AS `m1`
    ON `m1`.`s0` = `f0`.`a0` AND `m1`.`s1` = `f0`.`a2`
  GROUP BY
    `p`.`clause`,
    `f0`.`atom`
  UNION ALL
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
  FROM `memory`.`sqlrl`.`fact_Next` AS `f3`
  INNER JOIN (
    SELECT
      `a`.`a0`,
      `a`.`a1`,
      `a`.`a2`
    FROM `memory`.`sqlrl`.`atom_InField` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f4`
    ON `f4`.`a2` = `f3`.`a1`
  INNER JOIN `c0` AS `f0`
    ON `f0`.`a0` = `f4`.`a0` AND `f0`.`a2` = `f3`.`a0`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f0`.`a1` AND `p`.`k1` = `f4`.`a1`
  GROUP BY
    `p`.`clause`,
    `f0`.`atom`
  UNION ALL
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
  FROM `memory`.`sqlrl`.`fact_Next` AS `f5`
  INNER JOIN `c0` AS `f0`
    ON `f0`.`a2` = `f5`.`a0`
  INNER JOIN `memory`.`sqlrl`.`domain_position` AS `d6`
    ON `d6`.`example` = `f0`.`a0` AND `d6`.`id` = `f5`.`a0`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f0`.`a1`
  WHERE
    `f5`.`a1` = `f5`.`a0`
  GROUP BY
    `p`.`clause`,
    `f0`.`atom`
  UNION ALL
  SELECT
    `p`.`clause` AS `clause`,
    `f0`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f0`.`change` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f0`.`change`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `memory`.`sqlrl`.`fact_Next` AS `f7`
  INNER JOIN (
    SELECT
      `a`.`a0`,
      `a`.`a1`,
      `a`.`a2`
    FROM `memory`.`sqlrl`.`atom_InField` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f8`
    ON `f8`.`a2` = `f7`.`a0`
  INNER JOIN `c0` AS `f0`
    ON `f0`.`a0` = `f8`.`a0` AND `f0`.`a2` = `f7`.`a0`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f0`.`a1` AND `p`.`k1` = `f8`.`a1`
  WHERE
    `f7`.`a1` = `f7`.`a0`
  GROUP BY
    `p`.`clause`,
    `f0`.`atom`
  UNION ALL
  SELECT
    `p`.`clause` AS `clause`,
    `f9`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f9`.`change` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f9`.`change` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM (
    SELECT
      `a`.`a0`,
      `a`.`a1`,
      `a`.`a2`
    FROM `memory`.`sqlrl`.`atom_InField` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f10`
  INNER JOIN `memory`.`sqlrl`.`fact_Next` AS `f11`
    ON `f11`.`a0` = `f10`.`a2`
  INNER JOIN `c0` AS `f9`
    ON `f9`.`a0` = `f10`.`a0` AND `f9`.`a2` = `f11`.`a1`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f10`.`a1` AND `p`.`k1` = `f9`.`a1`
  GROUP BY
    `p`.`clause`,
    `f9`.`atom`
  UNION ALL
  SELECT
    `p`.`clause` AS `clause`,
    `f9`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f9`.`change` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f9`.`change`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM (
    SELECT
      `a`.`a0`,
      `a`.`a1`,
      `a`.`a2`
    FROM `memory`.`sqlrl`.`atom_InField` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f12`
  INNER JOIN `memory`.`sqlrl`.`fact_Next` AS `f13`
    ON `f13`.`a0` = `f12`.`a2` AND `f13`.`a1` = `f12`.`a2`
  INNER JOIN `c0` AS `f9`
    ON `f9`.`a0` = `f12`.`a0` AND `f9`.`a2` = `f12`.`a2`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f12`.`a1` AND `p`.`k1` = `f9`.`a1`
  GROUP BY
    `p`.`clause`,
    `f9`.`atom`
  UNION ALL
  SELECT
    `p`.`clause` AS `clause`,
    `f14`.`atom` AS `atom`,
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
  FROM `memory`.`sqlrl`.`fact_Next` AS `f15`
  INNER JOIN `c0` AS `f14`
    ON `f14`.`a2` = `f15`.`a0`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f14`.`a1` AND `p`.`k1` = `f14`.`a1`
  WHERE
    `f15`.`a1` = `f15`.`a0`
  GROUP BY
    `p`.`clause`,
    `f14`.`atom`
  UNION ALL
  SELECT
    `p`.`clause` AS `clause`,
    `f14`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(1 AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(1) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `memory`.`sqlrl`.`fact_Next` AS `f16`
  INNER JOIN `c0` AS `f14`
    ON `f14`.`a2` = `f16`.`a0`
  INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
    ON `p`.`k0` = `f14`.`a1` AND `p`.`k1` = `f14`.`a1`
  WHERE
    `f16`.`a1` = `f16`.`a0`
  GROUP BY
    `p`.`clause`,
    `f14`.`atom`
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
