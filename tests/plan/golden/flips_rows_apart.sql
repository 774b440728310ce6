-- flips: 1 Cancer(x) v (Friends(y, Anna) <=> Friends(z, Bob))

-- duckdb
SELECT
  "clause",
  "atom",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "m"."clause",
    "m"."atom",
    (
      (
        COALESCE("n0"."n", CAST(0 AS INT128)) + "m"."d0"
      ) * COALESCE("n1"."n", CAST(0 AS INT128)) * COALESCE("n2"."n", CAST(0 AS INT128)) - COALESCE("n0"."n", CAST(0 AS INT128)) * COALESCE("n1"."n", CAST(0 AS INT128)) * COALESCE("n2"."n", CAST(0 AS INT128))
    ) * "r"."n" AS "n"
  FROM (
    SELECT
      "u"."clause",
      "u"."k0",
      "u"."k1",
      "u"."atom",
      CAST(SUM("u"."d0") AS INT128) AS "d0"
    FROM (
      SELECT
        "p"."clause",
        "p"."k0",
        "p"."k1",
        "d"."atom",
        "d"."n" AS "d0"
      FROM (
        WITH "c0" AS (
          SELECT
            "a"."atom",
            "a"."a0",
            CASE WHEN "a"."truth" THEN (
              -1
            ) ELSE 1 END AS "change"
          FROM "memory"."sqlrl"."atom_Cancer" AS "a"
        )
        SELECT
          "atom",
          CAST(SUM("terms"."n") AS INT128) AS "n"
        FROM (
          SELECT
            "f0"."atom" AS "atom",
            CAST(SUM("f0"."change" * (
              -1
            )) AS INT128) AS "n"
          FROM "c0" AS "f0"
          GROUP BY
            "f0"."atom"
        ) AS "terms"
        GROUP BY
          "atom"
        HAVING
          CAST(SUM("terms"."n") AS INT128) <> 0
      ) AS "d"
      CROSS JOIN (
        SELECT DISTINCT
          "clause",
          "k0",
          "k1"
        FROM "memory"."sqlrl"."scratch_parameter"
      ) AS "p"
    ) AS "u"
    GROUP BY
      "u"."clause",
      "u"."k0",
      "u"."k1",
      "u"."atom"
  ) AS "m"
  LEFT JOIN (
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
        WHERE
          "a"."truth"
      ) AS "f0"
    ) AS "terms"
  ) AS "n0"
    ON TRUE
  LEFT JOIN (
    WITH "m0" AS (
      SELECT
        "f0"."a1" AS "s0",
        COUNT(*) AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "f0"
      GROUP BY
        "f0"."a1"
    )
    SELECT
      "p"."clause" AS "clause",
      "p"."k0" AS "k0",
      "p"."k1" AS "k1",
      CAST(SUM("m0"."n") AS INT128) AS "n"
    FROM (
      SELECT DISTINCT
        "clause",
        "k0",
        "k1"
      FROM "memory"."sqlrl"."scratch_parameter"
    ) AS "p"
    INNER JOIN "m0" AS "m0"
      ON "m0"."s0" = "p"."k0"
    GROUP BY
      "p"."clause",
      "p"."k0",
      "p"."k1"
  ) AS "n1"
    ON "n1"."clause" = "m"."clause" AND "n1"."k0" = "m"."k0" AND "n1"."k1" = "m"."k1"
  LEFT JOIN (
    WITH "m0" AS (
      SELECT
        "f0"."a1" AS "s0",
        COUNT(*) AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "f0"
      GROUP BY
        "f0"."a1"
    )
    SELECT
      "clause",
      "k0",
      "k1",
      CAST(SUM("n") AS INT128) AS "n"
    FROM (
      SELECT
        "p"."clause" AS "clause",
        "p"."k0" AS "k0",
        "p"."k1" AS "k1",
        CAST(SUM(3) AS INT128) AS "n"
      FROM (
        SELECT DISTINCT
          "clause",
          "k0",
          "k1"
        FROM "memory"."sqlrl"."scratch_parameter"
      ) AS "p"
      GROUP BY
        "p"."clause",
        "p"."k0",
        "p"."k1"
      UNION ALL
      SELECT
        "p"."clause" AS "clause",
        "p"."k0" AS "k0",
        "p"."k1" AS "k1",
        CAST(SUM("m0"."n" * (
          -1
        )) AS INT128) AS "n"
      FROM (
        SELECT DISTINCT
          "clause",
          "k0",
          "k1"
        FROM "memory"."sqlrl"."scratch_parameter"
      ) AS "p"
      INNER JOIN "m0" AS "m0"
        ON "m0"."s0" = "p"."k1"
      GROUP BY
        "p"."clause",
        "p"."k0",
        "p"."k1"
    ) AS "terms"
    GROUP BY
      "clause",
      "k0",
      "k1"
  ) AS "n2"
    ON "n2"."clause" = "m"."clause" AND "n2"."k0" = "m"."k0" AND "n2"."k1" = "m"."k1"
  JOIN (
    SELECT
      "clause",
      "k0",
      "k1",
      COUNT(*) AS "n"
    FROM "memory"."sqlrl"."scratch_parameter"
    GROUP BY
      "clause",
      "k0",
      "k1"
  ) AS "r"
    ON "r"."clause" = "m"."clause" AND "r"."k0" = "m"."k0" AND "r"."k1" = "m"."k1"
) AS "terms"
GROUP BY
  "clause",
  "atom"
HAVING
  CAST(SUM("terms"."n") AS INT128) <> 0;

-- spark
WITH `m0` AS (
  SELECT
    `f0`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f0`
  GROUP BY
    `f0`.`a1`
), `m0_2` AS (
  SELECT
    `f0`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM `memory`.`sqlrl`.`fact_Friends` AS `f0`
  GROUP BY
    `f0`.`a1`
), `c0` AS (
  SELECT
    `a`.`atom`,
    `a`.`a0`,
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
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
    `m`.`clause`,
    `m`.`atom`,
    (
      (
        COALESCE(`n0`.`n`, CAST(0 AS DECIMAL(38, 0))) + `m`.`d0`
      ) * COALESCE(`n1`.`n`, CAST(0 AS DECIMAL(38, 0))) * COALESCE(`n2`.`n`, CAST(0 AS DECIMAL(38, 0))) - COALESCE(`n0`.`n`, CAST(0 AS DECIMAL(38, 0))) * COALESCE(`n1`.`n`, CAST(0 AS DECIMAL(38, 0))) * COALESCE(`n2`.`n`, CAST(0 AS DECIMAL(38, 0)))
    ) * `r`.`n` AS `n`
  FROM (
    SELECT
      `u`.`clause`,
      `u`.`k0`,
      `u`.`k1`,
      `u`.`atom`,
      COALESCE(
        TRY_SUM(CAST(`u`.`d0` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`u`.`d0`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `d0`
    FROM (
      SELECT
        `p`.`clause`,
        `p`.`k0`,
        `p`.`k1`,
        `d`.`atom`,
        `d`.`n` AS `d0`
      FROM (
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
          FROM `c0` AS `f0`
          GROUP BY
            `f0`.`atom`
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
          ) <> 0
      ) AS `d`
      CROSS JOIN (
        SELECT DISTINCT
          `clause`,
          `k0`,
          `k1`
        FROM `memory`.`sqlrl`.`scratch_parameter`
      ) AS `p`
    ) AS `u`
    GROUP BY
      `u`.`clause`,
      `u`.`k0`,
      `u`.`k1`,
      `u`.`atom`
  ) AS `m`
  LEFT JOIN (
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
        WHERE
          `a`.`truth`
      ) AS `f0`
    ) AS `terms`
  ) AS `n0`
    ON TRUE
  LEFT JOIN (
    SELECT
      `p`.`clause` AS `clause`,
      `p`.`k0` AS `k0`,
      `p`.`k1` AS `k1`,
      COALESCE(
        TRY_SUM(CAST(`m0`.`n` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`m0`.`n`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `n`
    FROM (
      SELECT DISTINCT
        `clause`,
        `k0`,
        `k1`
      FROM `memory`.`sqlrl`.`scratch_parameter`
    ) AS `p`
    INNER JOIN `m0` AS `m0`
      ON `m0`.`s0` = `p`.`k0`
    GROUP BY
      `p`.`clause`,
      `p`.`k0`,
      `p`.`k1`
  ) AS `n1`
    ON `n1`.`clause` = `m`.`clause` AND `n1`.`k0` = `m`.`k0` AND `n1`.`k1` = `m`.`k1`
  LEFT JOIN (
    SELECT
      `clause`,
      `k0`,
      `k1`,
      COALESCE(
        TRY_SUM(CAST(`n` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`n`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `n`
    FROM (
      SELECT
        `p`.`clause` AS `clause`,
        `p`.`k0` AS `k0`,
        `p`.`k1` AS `k1`,
        COALESCE(
          TRY_SUM(CAST(3 AS DECIMAL(38, 0))),
          CASE
            WHEN COUNT(3) > 0
            THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
          END
        ) AS `n`
      FROM (
        SELECT DISTINCT
          `clause`,
          `k0`,
          `k1`
        FROM `memory`.`sqlrl`.`scratch_parameter`
      ) AS `p`
      GROUP BY
        `p`.`clause`,
        `p`.`k0`,
        `p`.`k1`
      UNION ALL
      SELECT
        `p`.`clause` AS `clause`,
        `p`.`k0` AS `k0`,
        `p`.`k1` AS `k1`,
        COALESCE(
          TRY_SUM(CAST(`m0`.`n` * (
            -1
          ) AS DECIMAL(38, 0))),
          CASE
            WHEN COUNT(`m0`.`n` * (
              -1
            )) > 0
            THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
          END
        ) AS `n`
      FROM (
        SELECT DISTINCT
          `clause`,
          `k0`,
          `k1`
        FROM `memory`.`sqlrl`.`scratch_parameter`
      ) AS `p`
      INNER JOIN `m0_2` AS `m0`
        ON `m0`.`s0` = `p`.`k1`
      GROUP BY
        `p`.`clause`,
        `p`.`k0`,
        `p`.`k1`
    ) AS `terms`
    GROUP BY
      `clause`,
      `k0`,
      `k1`
  ) AS `n2`
    ON `n2`.`clause` = `m`.`clause` AND `n2`.`k0` = `m`.`k0` AND `n2`.`k1` = `m`.`k1`
  JOIN (
    SELECT
      `clause`,
      `k0`,
      `k1`,
      COUNT(*) AS `n`
    FROM `memory`.`sqlrl`.`scratch_parameter`
    GROUP BY
      `clause`,
      `k0`,
      `k1`
  ) AS `r`
    ON `r`.`clause` = `m`.`clause` AND `r`.`k0` = `m`.`k0` AND `r`.`k1` = `m`.`k1`
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
