-- flips: 1 Friends(x, Anna) v Smokes(y) v Cancer(z)

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
      COALESCE("n0"."n", CAST(0 AS INT128)) + "m"."d0"
    ) * COALESCE("n1"."n", CAST(0 AS INT128)) * (
      COALESCE("n2"."n", CAST(0 AS INT128)) + "m"."d2"
    ) - COALESCE("n0"."n", CAST(0 AS INT128)) * COALESCE("n1"."n", CAST(0 AS INT128)) * COALESCE("n2"."n", CAST(0 AS INT128)) AS "n"
  FROM (
    SELECT
      "u"."clause",
      "u"."atom",
      CAST(SUM("u"."d0") AS INT128) AS "d0",
      CAST(SUM("u"."d2") AS INT128) AS "d2"
    FROM (
      SELECT
        "p"."clause",
        "d"."atom",
        "d"."n" AS "d0",
        CAST(0 AS INT128) AS "d2"
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
          "clause"
        FROM "memory"."sqlrl"."scratch_parameter"
      ) AS "p"
      UNION ALL
      SELECT
        "p"."clause",
        "d"."atom",
        CAST(0 AS INT128) AS "d0",
        "d"."n" AS "d2"
      FROM (
        WITH "c0" AS (
          SELECT
            "a"."atom",
            "a"."a0",
            CASE WHEN "a"."truth" THEN (
              -1
            ) ELSE 1 END AS "change"
          FROM "memory"."sqlrl"."atom_Smokes" AS "a"
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
          "clause"
        FROM "memory"."sqlrl"."scratch_parameter"
      ) AS "p"
    ) AS "u"
    GROUP BY
      "u"."clause",
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
    SELECT
      "clause",
      CAST(SUM("n") AS INT128) AS "n"
    FROM (
      SELECT
        "p"."clause" AS "clause",
        CAST(SUM(3) AS INT128) AS "n"
      FROM "memory"."sqlrl"."scratch_parameter" AS "p"
      GROUP BY
        "p"."clause"
      UNION ALL
      SELECT
        "p"."clause" AS "clause",
        CAST(SUM((
          -1
        )) AS INT128) AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "f0"
      INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
        ON "p"."k0" = "f0"."a1"
      GROUP BY
        "p"."clause"
    ) AS "terms"
    GROUP BY
      "clause"
  ) AS "n1"
    ON "n1"."clause" = "m"."clause"
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
        FROM "memory"."sqlrl"."atom_Smokes" AS "a"
        WHERE
          "a"."truth"
        UNION ALL
        SELECT
          "a0"
        FROM "memory"."sqlrl"."fact_Smokes"
        WHERE
          "given" AND "truth"
      ) AS "f0"
    ) AS "terms"
  ) AS "n2"
    ON TRUE
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
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
), `c0_2` AS (
  SELECT
    `a`.`atom`,
    `a`.`a0`,
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Smokes` AS `a`
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
      COALESCE(`n0`.`n`, CAST(0 AS DECIMAL(38, 0))) + `m`.`d0`
    ) * COALESCE(`n1`.`n`, CAST(0 AS DECIMAL(38, 0))) * (
      COALESCE(`n2`.`n`, CAST(0 AS DECIMAL(38, 0))) + `m`.`d2`
    ) - COALESCE(`n0`.`n`, CAST(0 AS DECIMAL(38, 0))) * COALESCE(`n1`.`n`, CAST(0 AS DECIMAL(38, 0))) * COALESCE(`n2`.`n`, CAST(0 AS DECIMAL(38, 0))) AS `n`
  FROM (
    SELECT
      `u`.`clause`,
      `u`.`atom`,
      COALESCE(
        TRY_SUM(CAST(`u`.`d0` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`u`.`d0`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `d0`,
      COALESCE(
        TRY_SUM(CAST(`u`.`d2` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`u`.`d2`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `d2`
    FROM (
      SELECT
        `p`.`clause`,
        `d`.`atom`,
        `d`.`n` AS `d0`,
        CAST(0 AS DECIMAL(38, 0)) AS `d2`
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
          `clause`
        FROM `memory`.`sqlrl`.`scratch_parameter`
      ) AS `p`
      UNION ALL
      SELECT
        `p`.`clause`,
        `d`.`atom`,
        CAST(0 AS DECIMAL(38, 0)) AS `d0`,
        `d`.`n` AS `d2`
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
          FROM `c0_2` AS `f0`
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
          `clause`
        FROM `memory`.`sqlrl`.`scratch_parameter`
      ) AS `p`
    ) AS `u`
    GROUP BY
      `u`.`clause`,
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
      `clause`,
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
        COALESCE(
          TRY_SUM(CAST(3 AS DECIMAL(38, 0))),
          CASE
            WHEN COUNT(3) > 0
            THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
          END
        ) AS `n`
      FROM `memory`.`sqlrl`.`scratch_parameter` AS `p`
      GROUP BY
        `p`.`clause`
      UNION ALL
      SELECT
        `p`.`clause` AS `clause`,
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
      FROM `memory`.`sqlrl`.`fact_Friends` AS `f0`
      INNER JOIN `memory`.`sqlrl`.`scratch_parameter` AS `p`
        ON `p`.`k0` = `f0`.`a1`
      GROUP BY
        `p`.`clause`
    ) AS `terms`
    GROUP BY
      `clause`
  ) AS `n1`
    ON `n1`.`clause` = `m`.`clause`
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
        FROM `memory`.`sqlrl`.`atom_Smokes` AS `a`
        WHERE
          `a`.`truth`
        UNION ALL
        SELECT
          `a0`
        FROM `memory`.`sqlrl`.`fact_Smokes`
        WHERE
          `given` AND `truth`
      ) AS `f0`
    ) AS `terms`
  ) AS `n2`
    ON TRUE
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
