-- flips: 1 Smokes(w) => Cancer(x) v Cancer(y) v Cancer(z) v Cancer(w)

-- duckdb
SELECT
  "atom",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "m"."atom",
    (
      COALESCE("n0"."n", CAST(0 AS INT128)) + "m"."d0"
    ) * (
      COALESCE("n1"."n", CAST(0 AS INT128)) + "m"."d1"
    ) * (
      COALESCE("n2"."n", CAST(0 AS INT128)) + "m"."d2"
    ) * (
      COALESCE("n3"."n", CAST(0 AS INT128)) + "m"."d3"
    ) - COALESCE("n0"."n", CAST(0 AS INT128)) * COALESCE("n1"."n", CAST(0 AS INT128)) * COALESCE("n2"."n", CAST(0 AS INT128)) * COALESCE("n3"."n", CAST(0 AS INT128)) AS "n"
  FROM (
    SELECT
      "u"."atom",
      CAST(SUM("u"."d0") AS INT128) AS "d0",
      CAST(SUM("u"."d1") AS INT128) AS "d1",
      CAST(SUM("u"."d2") AS INT128) AS "d2",
      CAST(SUM("u"."d3") AS INT128) AS "d3"
    FROM (
      SELECT
        "d"."atom",
        "d"."n" AS "d0",
        CAST(0 AS INT128) AS "d1",
        CAST(0 AS INT128) AS "d2",
        CAST(0 AS INT128) AS "d3"
      FROM (
        WITH "c0" AS (
          SELECT
            "a"."atom",
            "a"."a0",
            CASE WHEN "a"."truth" THEN (
              -1
            ) ELSE 1 END AS "change"
          FROM "memory"."sqlrl"."atom_Smokes" AS "a"
        ), "c1" AS (
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
            SELECT
              "a"."a0"
            FROM "memory"."sqlrl"."atom_Cancer" AS "a"
            WHERE
              "a"."truth"
          ) AS "f1"
          INNER JOIN "c0" AS "f0"
            ON "f0"."a0" = "f1"."a0"
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
            FROM "memory"."sqlrl"."atom_Smokes" AS "a"
            WHERE
              "a"."truth"
            UNION ALL
            SELECT
              "a0"
            FROM "memory"."sqlrl"."fact_Smokes"
            WHERE
              "given" AND "truth"
          ) AS "f3"
          INNER JOIN "c1" AS "f2"
            ON "f2"."a0" = "f3"."a0"
          GROUP BY
            "f2"."atom"
        ) AS "terms"
        GROUP BY
          "atom"
        HAVING
          CAST(SUM("terms"."n") AS INT128) <> 0
      ) AS "d"
      UNION ALL
      SELECT
        "d"."atom",
        CAST(0 AS INT128) AS "d0",
        "d"."n" AS "d1",
        CAST(0 AS INT128) AS "d2",
        CAST(0 AS INT128) AS "d3"
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
      UNION ALL
      SELECT
        "d"."atom",
        CAST(0 AS INT128) AS "d0",
        CAST(0 AS INT128) AS "d1",
        "d"."n" AS "d2",
        CAST(0 AS INT128) AS "d3"
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
      UNION ALL
      SELECT
        "d"."atom",
        CAST(0 AS INT128) AS "d0",
        CAST(0 AS INT128) AS "d1",
        CAST(0 AS INT128) AS "d2",
        "d"."n" AS "d3"
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
    ) AS "u"
    GROUP BY
      "u"."atom"
  ) AS "m"
  LEFT JOIN (
    SELECT
      CAST(SUM("n") AS INT128) AS "n"
    FROM (
      SELECT
        CAST(SUM(1) AS INT128) AS "n"
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
      ) AS "f1"
      INNER JOIN (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
        WHERE
          "a"."truth"
      ) AS "f2"
        ON "f2"."a0" = "f1"."a0"
    ) AS "terms"
  ) AS "n0"
    ON TRUE
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
  ) AS "n1"
    ON TRUE
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
  ) AS "n2"
    ON TRUE
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
  ) AS "n3"
    ON TRUE
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
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
), `c0_3` AS (
  SELECT
    `a`.`atom`,
    `a`.`a0`,
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Smokes` AS `a`
), `c1` AS (
  SELECT
    `a`.`atom`,
    `a`.`a0`,
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
), `c0_4` AS (
  SELECT
    `a`.`atom`,
    `a`.`a0`,
    CASE WHEN `a`.`truth` THEN (
      -1
    ) ELSE 1 END AS `change`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
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
    `m`.`atom`,
    (
      COALESCE(`n0`.`n`, CAST(0 AS DECIMAL(38, 0))) + `m`.`d0`
    ) * (
      COALESCE(`n1`.`n`, CAST(0 AS DECIMAL(38, 0))) + `m`.`d1`
    ) * (
      COALESCE(`n2`.`n`, CAST(0 AS DECIMAL(38, 0))) + `m`.`d2`
    ) * (
      COALESCE(`n3`.`n`, CAST(0 AS DECIMAL(38, 0))) + `m`.`d3`
    ) - COALESCE(`n0`.`n`, CAST(0 AS DECIMAL(38, 0))) * COALESCE(`n1`.`n`, CAST(0 AS DECIMAL(38, 0))) * COALESCE(`n2`.`n`, CAST(0 AS DECIMAL(38, 0))) * COALESCE(`n3`.`n`, CAST(0 AS DECIMAL(38, 0))) AS `n`
  FROM (
    SELECT
      `u`.`atom`,
      COALESCE(
        TRY_SUM(CAST(`u`.`d0` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`u`.`d0`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `d0`,
      COALESCE(
        TRY_SUM(CAST(`u`.`d1` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`u`.`d1`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `d1`,
      COALESCE(
        TRY_SUM(CAST(`u`.`d2` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`u`.`d2`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `d2`,
      COALESCE(
        TRY_SUM(CAST(`u`.`d3` AS DECIMAL(38, 0))),
        CASE
          WHEN COUNT(`u`.`d3`) > 0
          THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
        END
      ) AS `d3`
    FROM (
      SELECT
        `d`.`atom`,
        `d`.`n` AS `d0`,
        CAST(0 AS DECIMAL(38, 0)) AS `d1`,
        CAST(0 AS DECIMAL(38, 0)) AS `d2`,
        CAST(0 AS DECIMAL(38, 0)) AS `d3`
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
              TRY_SUM(CAST(`f0`.`change` AS DECIMAL(38, 0))),
              CASE
                WHEN COUNT(`f0`.`change`) > 0
                THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
              END
            ) AS `n`
          FROM `c0_3` AS `f0`
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
            SELECT
              `a`.`a0`
            FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
            WHERE
              `a`.`truth`
          ) AS `f1`
          INNER JOIN `c0_3` AS `f0`
            ON `f0`.`a0` = `f1`.`a0`
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
            FROM `memory`.`sqlrl`.`atom_Smokes` AS `a`
            WHERE
              `a`.`truth`
            UNION ALL
            SELECT
              `a0`
            FROM `memory`.`sqlrl`.`fact_Smokes`
            WHERE
              `given` AND `truth`
          ) AS `f3`
          INNER JOIN `c1` AS `f2`
            ON `f2`.`a0` = `f3`.`a0`
          GROUP BY
            `f2`.`atom`
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
      UNION ALL
      SELECT
        `d`.`atom`,
        CAST(0 AS DECIMAL(38, 0)) AS `d0`,
        `d`.`n` AS `d1`,
        CAST(0 AS DECIMAL(38, 0)) AS `d2`,
        CAST(0 AS DECIMAL(38, 0)) AS `d3`
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
          FROM `c0_4` AS `f0`
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
      UNION ALL
      SELECT
        `d`.`atom`,
        CAST(0 AS DECIMAL(38, 0)) AS `d0`,
        CAST(0 AS DECIMAL(38, 0)) AS `d1`,
        `d`.`n` AS `d2`,
        CAST(0 AS DECIMAL(38, 0)) AS `d3`
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
      UNION ALL
      SELECT
        `d`.`atom`,
        CAST(0 AS DECIMAL(38, 0)) AS `d0`,
        CAST(0 AS DECIMAL(38, 0)) AS `d1`,
        CAST(0 AS DECIMAL(38, 0)) AS `d2`,
        `d`.`n` AS `d3`
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
    ) AS `u`
    GROUP BY
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
        COALESCE(
          TRY_SUM(CAST(1 AS DECIMAL(38, 0))),
          CASE
            WHEN COUNT(1) > 0
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
      ) AS `f1`
      INNER JOIN (
        SELECT
          `a`.`a0`
        FROM `memory`.`sqlrl`.`atom_Cancer` AS `a`
        WHERE
          `a`.`truth`
      ) AS `f2`
        ON `f2`.`a0` = `f1`.`a0`
    ) AS `terms`
  ) AS `n0`
    ON TRUE
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
  ) AS `n1`
    ON TRUE
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
  ) AS `n2`
    ON TRUE
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
  ) AS `n3`
    ON TRUE
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
