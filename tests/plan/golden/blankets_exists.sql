-- blankets: 1 Cancer(x) => Smokes(x) v (EXIST y (Friends(x, y) ^ Smokes(y) ^ y != x))

WITH "m0" AS (
  SELECT
    "f0"."a0" AS "s0",
    COUNT(*) AS "n"
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
  GROUP BY
    "f0"."a0"
), "m1" AS (
  SELECT
    "f1"."x0" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT DISTINCT
      "wt0"."a0" AS "x0"
    FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
    INNER JOIN (
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
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
    WHERE
      "wt0"."a0" <> "wt0"."a1"
  ) AS "f1"
  GROUP BY
    "f1"."x0"
), "m2" AS (
  SELECT
    "f2"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f2"
  GROUP BY
    "f2"."a0"
), "m3" AS (
  SELECT
    "o4"."y1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f3"
  INNER JOIN (
    SELECT
      "o4w"."x0" AS "y0",
      MIN("o4w"."x1") AS "y1"
    FROM (
      SELECT DISTINCT
        "wt0"."a0" AS "x0",
        "wt0"."a1" AS "x1"
      FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
      INNER JOIN (
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
      ) AS "wt1"
        ON "wt1"."a0" = "wt0"."a1"
      WHERE
        "wt0"."a0" <> "wt0"."a1"
    ) AS "o4w"
    GROUP BY
      "o4w"."x0"
    HAVING
      COUNT(*) = 1
  ) AS "o4"
    ON "o4"."y0" = "f3"."a0"
  GROUP BY
    "o4"."y1"
), "m4" AS (
  SELECT
    "o7"."y1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f5"
  INNER JOIN (
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
  ) AS "f6"
    ON "f6"."a0" = "f5"."a0"
  INNER JOIN (
    SELECT
      "o7w"."x0" AS "y0",
      MIN("o7w"."x1") AS "y1"
    FROM (
      SELECT DISTINCT
        "wt0"."a0" AS "x0",
        "wt0"."a1" AS "x1"
      FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
      INNER JOIN (
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
      ) AS "wt1"
        ON "wt1"."a0" = "wt0"."a1"
      WHERE
        "wt0"."a0" <> "wt0"."a1"
    ) AS "o7w"
    GROUP BY
      "o7w"."x0"
    HAVING
      COUNT(*) = 1
  ) AS "o7"
    ON "o7"."y0" = "f5"."a0"
  GROUP BY
    "o7"."y1"
), "m5" AS (
  SELECT
    "f9"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f8"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f9"
    ON "f9"."a0" = "f8"."a0"
  GROUP BY
    "f9"."a1"
), "m6" AS (
  SELECT
    "f11"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f10"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f11"
    ON "f11"."a0" = "f10"."a0"
  INNER JOIN (
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
  ) AS "f12"
    ON "f12"."a0" = "f10"."a0"
  GROUP BY
    "f11"."a1"
), "m7" AS (
  SELECT
    "f14"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f13"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f14"
    ON "f14"."a0" = "f13"."a0"
  INNER JOIN (
    SELECT DISTINCT
      "wt0"."a0" AS "x0"
    FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
    INNER JOIN (
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
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
    WHERE
      "wt0"."a0" <> "wt0"."a1"
  ) AS "f15"
    ON "f15"."x0" = "f13"."a0"
  GROUP BY
    "f14"."a1"
), "m8" AS (
  SELECT
    "f16"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f16"
  WHERE
    "f16"."a1" = "f16"."a0"
  GROUP BY
    "f16"."a0"
), "m9" AS (
  SELECT
    "f18"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f17"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f18"
    ON "f18"."a0" = "f17"."a0"
  INNER JOIN (
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
  ) AS "f19"
    ON "f19"."a0" = "f17"."a0"
  INNER JOIN (
    SELECT DISTINCT
      "wt0"."a0" AS "x0"
    FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
    INNER JOIN (
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
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
    WHERE
      "wt0"."a0" <> "wt0"."a1"
  ) AS "f20"
    ON "f20"."x0" = "f17"."a0"
  GROUP BY
    "f18"."a1"
), "m10" AS (
  SELECT
    "o21"."y0" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "o21w"."x0" AS "y0",
      MIN("o21w"."x1") AS "y1"
    FROM (
      SELECT DISTINCT
        "wt0"."a0" AS "x0",
        "wt0"."a1" AS "x1"
      FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
      INNER JOIN (
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
      ) AS "wt1"
        ON "wt1"."a0" = "wt0"."a1"
      WHERE
        "wt0"."a0" <> "wt0"."a1"
    ) AS "o21w"
    GROUP BY
      "o21w"."x0"
    HAVING
      COUNT(*) = 1
  ) AS "o21"
  WHERE
    "o21"."y1" = "o21"."y0"
  GROUP BY
    "o21"."y0"
), "m11" AS (
  SELECT
    "o22"."y0" AS "s0",
    "o22"."y2" AS "s1",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "o22w"."x0" AS "y0",
      MIN("o22w"."x0") AS "y1",
      MIN("o22w"."x1") AS "y2"
    FROM (
      SELECT DISTINCT
        "wt0"."a0" AS "x0",
        "wt0"."a1" AS "x1"
      FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
      INNER JOIN (
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
      ) AS "wt1"
        ON "wt1"."a0" = "wt0"."a1"
      WHERE
        "wt0"."a0" <> "wt0"."a1"
    ) AS "o22w"
    GROUP BY
      "o22w"."x0"
    HAVING
      COUNT(*) = 1
  ) AS "o22"
  WHERE
    "o22"."y1" = "o22"."y0"
  GROUP BY
    "o22"."y0",
    "o22"."y2"
)
SELECT
  "part",
  "s0",
  "s1",
  "n"
FROM (
  SELECT
    0 AS "part",
    CAST("m0"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m0"."n" AS BIGINT) AS "n"
  FROM "m0" AS "m0"
  WHERE
    "m0"."n" <> 0
  UNION ALL
  SELECT
    1 AS "part",
    CAST("m1"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m1"."n" AS BIGINT) AS "n"
  FROM "m1" AS "m1"
  WHERE
    "m1"."n" <> 0
  UNION ALL
  SELECT
    2 AS "part",
    CAST("m2"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m2"."n" AS BIGINT) AS "n"
  FROM "m2" AS "m2"
  WHERE
    "m2"."n" <> 0
  UNION ALL
  SELECT
    3 AS "part",
    CAST("m3"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m3"."n" AS BIGINT) AS "n"
  FROM "m3" AS "m3"
  WHERE
    "m3"."n" <> 0
  UNION ALL
  SELECT
    4 AS "part",
    CAST("m4"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m4"."n" AS BIGINT) AS "n"
  FROM "m4" AS "m4"
  WHERE
    "m4"."n" <> 0
  UNION ALL
  SELECT
    5 AS "part",
    CAST("m5"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m5"."n" AS BIGINT) AS "n"
  FROM "m5" AS "m5"
  WHERE
    "m5"."n" <> 0
  UNION ALL
  SELECT
    6 AS "part",
    CAST("m6"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m6"."n" AS BIGINT) AS "n"
  FROM "m6" AS "m6"
  WHERE
    "m6"."n" <> 0
  UNION ALL
  SELECT
    7 AS "part",
    CAST("m7"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m7"."n" AS BIGINT) AS "n"
  FROM "m7" AS "m7"
  WHERE
    "m7"."n" <> 0
  UNION ALL
  SELECT
    8 AS "part",
    CAST("m8"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m8"."n" AS BIGINT) AS "n"
  FROM "m8" AS "m8"
  WHERE
    "m8"."n" <> 0
  UNION ALL
  SELECT
    9 AS "part",
    CAST("m9"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m9"."n" AS BIGINT) AS "n"
  FROM "m9" AS "m9"
  WHERE
    "m9"."n" <> 0
  UNION ALL
  SELECT
    10 AS "part",
    CAST("m10"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST("m10"."n" AS BIGINT) AS "n"
  FROM "m10" AS "m10"
  WHERE
    "m10"."n" <> 0
  UNION ALL
  SELECT
    11 AS "part",
    CAST("m11"."s0" AS INT) AS "s0",
    CAST("m11"."s1" AS INT) AS "s1",
    CAST("m11"."n" AS BIGINT) AS "n"
  FROM "m11" AS "m11"
  WHERE
    "m11"."n" <> 0
) AS "parts";
