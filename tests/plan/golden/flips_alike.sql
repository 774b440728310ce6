-- flips in: 1 Friends(x, y) ^ Friends(y, z) ^ Cancer(x) ^ Cancer(y) => Cancer(z)

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
), "m1" AS (
  SELECT
    "f3"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f3"
  GROUP BY
    "f3"."a0"
), "m2" AS (
  SELECT
    "f2"."a0" AS "s0",
    CAST(SUM("m1"."n") AS BIGINT) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f1"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f2"
    ON "f2"."a1" = "f1"."a0"
  INNER JOIN "m1" AS "m1"
    ON "m1"."s0" = "f1"."a0"
  GROUP BY
    "f2"."a0"
), "m3" AS (
  SELECT
    "f6"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f6"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f7"
    ON "f7"."a0" = "f6"."a1"
  GROUP BY
    "f6"."a0"
), "m4" AS (
  SELECT
    "f5"."a0" AS "s0",
    CAST(SUM("m3"."n") AS BIGINT) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f4"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f5"
    ON "f5"."a1" = "f4"."a0"
  INNER JOIN "m3" AS "m3"
    ON "m3"."s0" = "f4"."a0"
  GROUP BY
    "f5"."a0"
), "m5" AS (
  SELECT
    "f11"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f11"
  GROUP BY
    "f11"."a0"
), "m6" AS (
  SELECT
    "f10"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f9"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f10"
    ON "f10"."a0" = "f9"."a0"
  GROUP BY
    "f10"."a1"
), "m7" AS (
  SELECT
    "f13"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f12"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f13"
    ON "f13"."a0" = "f12"."a0"
  GROUP BY
    "f13"."a1"
), "m8" AS (
  SELECT
    "f14"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f14"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f15"
    ON "f15"."a0" = "f14"."a1"
  GROUP BY
    "f14"."a0"
), "m9" AS (
  SELECT
    "f19"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f17"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f19"
    ON "f19"."a0" = "f17"."a0"
  GROUP BY
    "f19"."a1"
), "m10" AS (
  SELECT
    "f20"."a1" AS "s0",
    CAST(SUM("m9"."n") AS BIGINT) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f18"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f20"
    ON "f20"."a0" = "f18"."a0"
  INNER JOIN "m9" AS "m9"
    ON "m9"."s0" = "f18"."a0"
  GROUP BY
    "f20"."a1"
), "m11" AS (
  SELECT
    "f23"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f23"
  GROUP BY
    "f23"."a0"
), "m12" AS (
  SELECT
    "f25"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f25"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f26"
    ON "f26"."a0" = "f25"."a1"
  GROUP BY
    "f25"."a0"
), "m13" AS (
  SELECT
    "f29"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f28"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f29"
    ON "f29"."a1" = "f28"."a0"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f30"
    ON "f30"."a0" = "f28"."a0" AND "f30"."a1" = "f29"."a0"
  GROUP BY
    "f29"."a0"
), "m14" AS (
  SELECT
    "f33"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f32"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f33"
    ON "f33"."a0" = "f32"."a0"
  GROUP BY
    "f33"."a1"
)
SELECT
  "atom",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * "m2"."n") AS INT128) AS "n"
  FROM "c0" AS "f0"
  INNER JOIN "m2" AS "m2"
    ON "m2"."s0" = "f0"."a0"
  GROUP BY
    "f0"."atom"
  UNION ALL
  SELECT
    "f0"."atom" AS "atom",
    CAST(SUM("f0"."change" * "m4"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "f0"
  INNER JOIN "m4" AS "m4"
    ON "m4"."s0" = "f0"."a0"
  GROUP BY
    "f0"."atom"
  UNION ALL
  SELECT
    "f8"."atom" AS "atom",
    CAST(SUM("f8"."change" * "m5"."n" * "m6"."n") AS INT128) AS "n"
  FROM "c0" AS "f8"
  INNER JOIN "m5" AS "m5"
    ON "m5"."s0" = "f8"."a0"
  INNER JOIN "m6" AS "m6"
    ON "m6"."s0" = "f8"."a0"
  GROUP BY
    "f8"."atom"
  UNION ALL
  SELECT
    "f8"."atom" AS "atom",
    CAST(SUM("f8"."change" * "m7"."n" * "m8"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "f8"
  INNER JOIN "m7" AS "m7"
    ON "m7"."s0" = "f8"."a0"
  INNER JOIN "m8" AS "m8"
    ON "m8"."s0" = "f8"."a0"
  GROUP BY
    "f8"."atom"
  UNION ALL
  SELECT
    "f16"."atom" AS "atom",
    CAST(SUM("f16"."change" * "m10"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "f16"
  INNER JOIN "m10" AS "m10"
    ON "m10"."s0" = "f16"."a0"
  GROUP BY
    "f16"."atom"
  UNION ALL
  SELECT
    "f21"."atom" AS "atom",
    CAST(SUM("m11"."n") AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f22"
  INNER JOIN "c0" AS "f21"
    ON "f21"."a0" = "f22"."a0"
  INNER JOIN "m11" AS "m11"
    ON "m11"."s0" = "f22"."a0"
  WHERE
    "f22"."a1" = "f22"."a0"
  GROUP BY
    "f21"."atom"
  UNION ALL
  SELECT
    "f21"."atom" AS "atom",
    CAST(SUM("m12"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f24"
  INNER JOIN "c0" AS "f21"
    ON "f21"."a0" = "f24"."a0"
  INNER JOIN "m12" AS "m12"
    ON "m12"."s0" = "f24"."a0"
  WHERE
    "f24"."a1" = "f24"."a0"
  GROUP BY
    "f21"."atom"
  UNION ALL
  SELECT
    "f27"."atom" AS "atom",
    CAST(SUM("m13"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "f27"
  INNER JOIN "m13" AS "m13"
    ON "m13"."s0" = "f27"."a0"
  GROUP BY
    "f27"."atom"
  UNION ALL
  SELECT
    "f31"."atom" AS "atom",
    CAST(SUM("m14"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f34"
  INNER JOIN "c0" AS "f31"
    ON "f31"."a0" = "f34"."a0"
  INNER JOIN "m14" AS "m14"
    ON "m14"."s0" = "f34"."a0"
  WHERE
    "f34"."a1" = "f34"."a0"
  GROUP BY
    "f31"."atom"
  UNION ALL
  SELECT
    "f35"."atom" AS "atom",
    CAST(SUM("f35"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f36"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f37"
    ON "f37"."a0" = "f36"."a0" AND "f37"."a1" = "f36"."a0"
  INNER JOIN "c0" AS "f35"
    ON "f35"."a0" = "f36"."a0"
  WHERE
    "f36"."a1" = "f36"."a0"
  GROUP BY
    "f35"."atom"
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
), `m1` AS (
  SELECT
    `f3`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f3`
  GROUP BY
    `f3`.`a0`
), `m2` AS (
  SELECT
    `f2`.`a0` AS `s0`,
    CAST(SUM(`m1`.`n`) AS BIGINT) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f1`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f2`
    ON `f2`.`a1` = `f1`.`a0`
  INNER JOIN `m1` AS `m1`
    ON `m1`.`s0` = `f1`.`a0`
  GROUP BY
    `f2`.`a0`
), `m3` AS (
  SELECT
    `f6`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f6`
  INNER JOIN (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f7`
    ON `f7`.`a0` = `f6`.`a1`
  GROUP BY
    `f6`.`a0`
), `m4` AS (
  SELECT
    `f5`.`a0` AS `s0`,
    CAST(SUM(`m3`.`n`) AS BIGINT) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f4`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f5`
    ON `f5`.`a1` = `f4`.`a0`
  INNER JOIN `m3` AS `m3`
    ON `m3`.`s0` = `f4`.`a0`
  GROUP BY
    `f5`.`a0`
), `m5` AS (
  SELECT
    `f11`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f11`
  GROUP BY
    `f11`.`a0`
), `m6` AS (
  SELECT
    `f10`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f9`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f10`
    ON `f10`.`a0` = `f9`.`a0`
  GROUP BY
    `f10`.`a1`
), `m7` AS (
  SELECT
    `f13`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f12`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f13`
    ON `f13`.`a0` = `f12`.`a0`
  GROUP BY
    `f13`.`a1`
), `m8` AS (
  SELECT
    `f14`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f14`
  INNER JOIN (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f15`
    ON `f15`.`a0` = `f14`.`a1`
  GROUP BY
    `f14`.`a0`
), `m9` AS (
  SELECT
    `f19`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f17`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f19`
    ON `f19`.`a0` = `f17`.`a0`
  GROUP BY
    `f19`.`a1`
), `m10` AS (
  SELECT
    `f20`.`a1` AS `s0`,
    CAST(SUM(`m9`.`n`) AS BIGINT) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f18`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f20`
    ON `f20`.`a0` = `f18`.`a0`
  INNER JOIN `m9` AS `m9`
    ON `m9`.`s0` = `f18`.`a0`
  GROUP BY
    `f20`.`a1`
), `m11` AS (
  SELECT
    `f23`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f23`
  GROUP BY
    `f23`.`a0`
), `m12` AS (
  SELECT
    `f25`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f25`
  INNER JOIN (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f26`
    ON `f26`.`a0` = `f25`.`a1`
  GROUP BY
    `f25`.`a0`
), `m13` AS (
  SELECT
    `f29`.`a0` AS `s0`,
    COUNT(*) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f28`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f29`
    ON `f29`.`a1` = `f28`.`a0`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f30`
    ON `f30`.`a0` = `f28`.`a0` AND `f30`.`a1` = `f29`.`a0`
  GROUP BY
    `f29`.`a0`
), `m14` AS (
  SELECT
    `f33`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM (
    SELECT
      `a`.`a0`
    FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
    JOIN `memory`.`sqlrl`.`scratch_world` AS `w`
      ON `w`.`atom` = `a`.`atom`
  ) AS `f32`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f33`
    ON `f33`.`a0` = `f32`.`a0`
  GROUP BY
    `f33`.`a1`
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
      TRY_SUM(CAST(`f0`.`change` * `m2`.`n` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f0`.`change` * `m2`.`n`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f0`
  INNER JOIN `m2` AS `m2`
    ON `m2`.`s0` = `f0`.`a0`
  GROUP BY
    `f0`.`atom`
  UNION ALL
  SELECT
    `f0`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f0`.`change` * `m4`.`n` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f0`.`change` * `m4`.`n` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f0`
  INNER JOIN `m4` AS `m4`
    ON `m4`.`s0` = `f0`.`a0`
  GROUP BY
    `f0`.`atom`
  UNION ALL
  SELECT
    `f8`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f8`.`change` * `m5`.`n` * `m6`.`n` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f8`.`change` * `m5`.`n` * `m6`.`n`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f8`
  INNER JOIN `m5` AS `m5`
    ON `m5`.`s0` = `f8`.`a0`
  INNER JOIN `m6` AS `m6`
    ON `m6`.`s0` = `f8`.`a0`
  GROUP BY
    `f8`.`atom`
  UNION ALL
  SELECT
    `f8`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f8`.`change` * `m7`.`n` * `m8`.`n` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f8`.`change` * `m7`.`n` * `m8`.`n` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f8`
  INNER JOIN `m7` AS `m7`
    ON `m7`.`s0` = `f8`.`a0`
  INNER JOIN `m8` AS `m8`
    ON `m8`.`s0` = `f8`.`a0`
  GROUP BY
    `f8`.`atom`
  UNION ALL
  SELECT
    `f16`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f16`.`change` * `m10`.`n` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f16`.`change` * `m10`.`n` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f16`
  INNER JOIN `m10` AS `m10`
    ON `m10`.`s0` = `f16`.`a0`
  GROUP BY
    `f16`.`atom`
  UNION ALL
  SELECT
    `f21`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`m11`.`n` AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`m11`.`n`) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f22`
  INNER JOIN `c0` AS `f21`
    ON `f21`.`a0` = `f22`.`a0`
  INNER JOIN `m11` AS `m11`
    ON `m11`.`s0` = `f22`.`a0`
  WHERE
    `f22`.`a1` = `f22`.`a0`
  GROUP BY
    `f21`.`atom`
  UNION ALL
  SELECT
    `f21`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`m12`.`n` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`m12`.`n` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f24`
  INNER JOIN `c0` AS `f21`
    ON `f21`.`a0` = `f24`.`a0`
  INNER JOIN `m12` AS `m12`
    ON `m12`.`s0` = `f24`.`a0`
  WHERE
    `f24`.`a1` = `f24`.`a0`
  GROUP BY
    `f21`.`atom`
  UNION ALL
  SELECT
    `f27`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`m13`.`n` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`m13`.`n` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `c0` AS `f27`
  INNER JOIN `m13` AS `m13`
    ON `m13`.`s0` = `f27`.`a0`
  GROUP BY
    `f27`.`atom`
  UNION ALL
  SELECT
    `f31`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`m14`.`n` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`m14`.`n` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f34`
  INNER JOIN `c0` AS `f31`
    ON `f31`.`a0` = `f34`.`a0`
  INNER JOIN `m14` AS `m14`
    ON `m14`.`s0` = `f34`.`a0`
  WHERE
    `f34`.`a1` = `f34`.`a0`
  GROUP BY
    `f31`.`atom`
  UNION ALL
  SELECT
    `f35`.`atom` AS `atom`,
    COALESCE(
      TRY_SUM(CAST(`f35`.`change` * (
        -1
      ) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(`f35`.`change` * (
          -1
        )) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f36`
  INNER JOIN `memory`.`sqlrl`.`fact_Friends` AS `f37`
    ON `f37`.`a0` = `f36`.`a0` AND `f37`.`a1` = `f36`.`a0`
  INNER JOIN `c0` AS `f35`
    ON `f35`.`a0` = `f36`.`a0`
  WHERE
    `f36`.`a1` = `f36`.`a0`
  GROUP BY
    `f35`.`atom`
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
