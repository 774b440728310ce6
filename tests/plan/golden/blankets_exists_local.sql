-- blankets: 1 Token(w, p, c) => (EXIST q, f (InField(c, f, q) ^ Next(p, q) ^ Token(w, q, c)))

WITH "m0" AS (
  SELECT
    "f0"."x0" AS "s0",
    "f0"."x1" AS "s1",
    "f0"."x2" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT DISTINCT
      "wt0"."a0" AS "x0",
      "wt1"."a0" AS "x1",
      "wt2"."a0" AS "x2"
    FROM (
      SELECT
        "a"."a0",
        "a"."a1",
        "a"."a2"
      FROM "memory"."sqlrl"."atom_InField" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt0"
    INNER JOIN "memory"."sqlrl"."fact_Next" AS "wt1"
      ON "wt1"."a1" = "wt0"."a2"
    INNER JOIN "memory"."sqlrl"."fact_Token" AS "wt2"
      ON "wt2"."a1" = "wt0"."a2" AND "wt2"."a2" = "wt0"."a0"
    INNER JOIN "memory"."sqlrl"."domain_position" AS "wd3"
      ON "wd3"."example" = "wt0"."a0" AND "wd3"."id" = "wt1"."a0"
  ) AS "f0"
  GROUP BY
    "f0"."x0",
    "f0"."x1",
    "f0"."x2"
), "m1" AS (
  SELECT
    "f1"."a0" AS "s0",
    "f1"."a2" AS "s1",
    "o2"."y4" AS "s2",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f1"
  INNER JOIN (
    SELECT
      "o2w"."x0" AS "y0",
      "o2w"."x1" AS "y1",
      "o2w"."x2" AS "y2",
      MIN("o2w"."x2") AS "y3",
      MIN("o2w"."x3") AS "y4",
      MIN("o2w"."x0") AS "y5"
    FROM (
      SELECT DISTINCT
        "wt0"."a0" AS "x0",
        "wt1"."a0" AS "x1",
        "wt2"."a0" AS "x2",
        "wt0"."a2" AS "x3"
      FROM (
        SELECT
          "a"."a0",
          "a"."a1",
          "a"."a2"
        FROM "memory"."sqlrl"."atom_InField" AS "a"
        WHERE
          "a"."truth"
      ) AS "wt0"
      INNER JOIN "memory"."sqlrl"."fact_Next" AS "wt1"
        ON "wt1"."a1" = "wt0"."a2"
      INNER JOIN "memory"."sqlrl"."fact_Token" AS "wt2"
        ON "wt2"."a1" = "wt0"."a2" AND "wt2"."a2" = "wt0"."a0"
      INNER JOIN "memory"."sqlrl"."domain_position" AS "wd3"
        ON "wd3"."example" = "wt0"."a0" AND "wd3"."id" = "wt1"."a0"
    ) AS "o2w"
    GROUP BY
      "o2w"."x0",
      "o2w"."x1",
      "o2w"."x2"
    HAVING
      COUNT(*) = 1
  ) AS "o2"
    ON "o2"."y0" = "f1"."a2"
    AND "o2"."y1" = "f1"."a1"
    AND "o2"."y2" = "f1"."a0"
    AND "o2"."y3" = "f1"."a0"
    AND "o2"."y5" = "f1"."a2"
  GROUP BY
    "f1"."a0",
    "f1"."a2",
    "o2"."y4"
), "m2" AS (
  SELECT
    "f3"."x0" AS "s0",
    "f3"."x1" AS "s1",
    COUNT(*) AS "n"
  FROM (
    SELECT DISTINCT
      "wt0"."a0" AS "x0",
      "wt0"."a2" AS "x1"
    FROM (
      SELECT
        "a"."a0",
        "a"."a1",
        "a"."a2"
      FROM "memory"."sqlrl"."atom_InField" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt0"
  ) AS "f3"
  GROUP BY
    "f3"."x0",
    "f3"."x1"
), "m3" AS (
  SELECT
    "f4"."a1" AS "s0",
    "f5"."a0" AS "s1",
    "f5"."a2" AS "s2",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f4"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "f5"
    ON "f5"."a1" = "f4"."a0"
  GROUP BY
    "f4"."a1",
    "f5"."a0",
    "f5"."a2"
), "m4" AS (
  SELECT
    "f6"."a1" AS "s0",
    "f7"."a0" AS "s1",
    "f7"."a2" AS "s2",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f6"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "f7"
    ON "f7"."a1" = "f6"."a0"
  INNER JOIN (
    SELECT DISTINCT
      "wt0"."a0" AS "x0",
      "wt1"."a0" AS "x1",
      "wt2"."a0" AS "x2"
    FROM (
      SELECT
        "a"."a0",
        "a"."a1",
        "a"."a2"
      FROM "memory"."sqlrl"."atom_InField" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt0"
    INNER JOIN "memory"."sqlrl"."fact_Next" AS "wt1"
      ON "wt1"."a1" = "wt0"."a2"
    INNER JOIN "memory"."sqlrl"."fact_Token" AS "wt2"
      ON "wt2"."a1" = "wt0"."a2" AND "wt2"."a2" = "wt0"."a0"
    INNER JOIN "memory"."sqlrl"."domain_position" AS "wd3"
      ON "wd3"."example" = "wt0"."a0" AND "wd3"."id" = "wt1"."a0"
  ) AS "f8"
    ON "f8"."x0" = "f7"."a2" AND "f8"."x1" = "f6"."a0" AND "f8"."x2" = "f7"."a0"
  GROUP BY
    "f6"."a1",
    "f7"."a0",
    "f7"."a2"
), "m5" AS (
  SELECT
    "o9"."y0" AS "s0",
    "o9"."y1" AS "s1",
    "o9"."y2" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "o9w"."x0" AS "y0",
      "o9w"."x1" AS "y1",
      "o9w"."x2" AS "y2",
      MIN("o9w"."x2") AS "y3",
      MIN("o9w"."x3") AS "y4",
      MIN("o9w"."x0") AS "y5"
    FROM (
      SELECT DISTINCT
        "wt0"."a0" AS "x0",
        "wt1"."a0" AS "x1",
        "wt2"."a0" AS "x2",
        "wt0"."a2" AS "x3"
      FROM (
        SELECT
          "a"."a0",
          "a"."a1",
          "a"."a2"
        FROM "memory"."sqlrl"."atom_InField" AS "a"
        WHERE
          "a"."truth"
      ) AS "wt0"
      INNER JOIN "memory"."sqlrl"."fact_Next" AS "wt1"
        ON "wt1"."a1" = "wt0"."a2"
      INNER JOIN "memory"."sqlrl"."fact_Token" AS "wt2"
        ON "wt2"."a1" = "wt0"."a2" AND "wt2"."a2" = "wt0"."a0"
      INNER JOIN "memory"."sqlrl"."domain_position" AS "wd3"
        ON "wd3"."example" = "wt0"."a0" AND "wd3"."id" = "wt1"."a0"
    ) AS "o9w"
    GROUP BY
      "o9w"."x0",
      "o9w"."x1",
      "o9w"."x2"
    HAVING
      COUNT(*) = 1
  ) AS "o9"
  WHERE
    "o9"."y3" = "o9"."y2" AND "o9"."y4" = "o9"."y1" AND "o9"."y5" = "o9"."y0"
  GROUP BY
    "o9"."y0",
    "o9"."y1",
    "o9"."y2"
), "m6" AS (
  SELECT
    "f10"."a0" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f10"
  WHERE
    "f10"."a1" = "f10"."a0"
  GROUP BY
    "f10"."a0"
), "m7" AS (
  SELECT
    "f11"."a2" AS "s0",
    "o12"."y4" AS "s1",
    "o12"."y5" AS "s2",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f11"
  INNER JOIN (
    SELECT
      "o12w"."x0" AS "y0",
      "o12w"."x1" AS "y1",
      "o12w"."x2" AS "y2",
      MIN("o12w"."x0") AS "y3",
      MIN("o12w"."x3") AS "y4",
      MIN("o12w"."x4") AS "y5"
    FROM (
      SELECT DISTINCT
        "wt0"."a0" AS "x0",
        "wt1"."a0" AS "x1",
        "wt2"."a0" AS "x2",
        "wt0"."a1" AS "x3",
        "wt0"."a2" AS "x4"
      FROM (
        SELECT
          "a"."a0",
          "a"."a1",
          "a"."a2"
        FROM "memory"."sqlrl"."atom_InField" AS "a"
        WHERE
          "a"."truth"
      ) AS "wt0"
      INNER JOIN "memory"."sqlrl"."fact_Next" AS "wt1"
        ON "wt1"."a1" = "wt0"."a2"
      INNER JOIN "memory"."sqlrl"."fact_Token" AS "wt2"
        ON "wt2"."a1" = "wt0"."a2" AND "wt2"."a2" = "wt0"."a0"
      INNER JOIN "memory"."sqlrl"."domain_position" AS "wd3"
        ON "wd3"."example" = "wt0"."a0" AND "wd3"."id" = "wt1"."a0"
    ) AS "o12w"
    GROUP BY
      "o12w"."x0",
      "o12w"."x1",
      "o12w"."x2"
    HAVING
      COUNT(*) = 1
  ) AS "o12"
    ON "o12"."y0" = "f11"."a2"
    AND "o12"."y1" = "f11"."a1"
    AND "o12"."y2" = "f11"."a0"
    AND "o12"."y3" = "f11"."a2"
  GROUP BY
    "f11"."a2",
    "o12"."y4",
    "o12"."y5"
), "m8" AS (
  SELECT
    "f13"."a1" AS "s0",
    "f15"."a2" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f13"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "f15"
    ON "f15"."a1" = "f13"."a0"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "f14"
    ON "f14"."a0" = "f15"."a0" AND "f14"."a1" = "f13"."a1" AND "f14"."a2" = "f15"."a2"
  GROUP BY
    "f13"."a1",
    "f15"."a2"
), "m9" AS (
  SELECT
    "f16"."a1" AS "s0",
    "f18"."a2" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Next" AS "f16"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "f18"
    ON "f18"."a1" = "f16"."a0"
  INNER JOIN (
    SELECT DISTINCT
      "wt0"."a0" AS "x0",
      "wt1"."a0" AS "x1",
      "wt2"."a0" AS "x2"
    FROM (
      SELECT
        "a"."a0",
        "a"."a1",
        "a"."a2"
      FROM "memory"."sqlrl"."atom_InField" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt0"
    INNER JOIN "memory"."sqlrl"."fact_Next" AS "wt1"
      ON "wt1"."a1" = "wt0"."a2"
    INNER JOIN "memory"."sqlrl"."fact_Token" AS "wt2"
      ON "wt2"."a1" = "wt0"."a2" AND "wt2"."a2" = "wt0"."a0"
    INNER JOIN "memory"."sqlrl"."domain_position" AS "wd3"
      ON "wd3"."example" = "wt0"."a0" AND "wd3"."id" = "wt1"."a0"
  ) AS "f19"
    ON "f19"."x0" = "f18"."a2" AND "f19"."x1" = "f16"."a0" AND "f19"."x2" = "f18"."a0"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "f17"
    ON "f17"."a0" = "f18"."a0" AND "f17"."a1" = "f16"."a1" AND "f17"."a2" = "f18"."a2"
  GROUP BY
    "f16"."a1",
    "f18"."a2"
), "m10" AS (
  SELECT
    "f20"."a1" AS "s0",
    "o21"."y4" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f20"
  INNER JOIN (
    SELECT
      "o21w"."x0" AS "y0",
      "o21w"."x1" AS "y1",
      "o21w"."x2" AS "y2",
      MIN("o21w"."x1") AS "y3",
      MIN("o21w"."x3") AS "y4"
    FROM (
      SELECT DISTINCT
        "wt0"."a0" AS "x0",
        "wt1"."a0" AS "x1",
        "wt2"."a0" AS "x2",
        "wt0"."a2" AS "x3"
      FROM (
        SELECT
          "a"."a0",
          "a"."a1",
          "a"."a2"
        FROM "memory"."sqlrl"."atom_InField" AS "a"
        WHERE
          "a"."truth"
      ) AS "wt0"
      INNER JOIN "memory"."sqlrl"."fact_Next" AS "wt1"
        ON "wt1"."a1" = "wt0"."a2"
      INNER JOIN "memory"."sqlrl"."fact_Token" AS "wt2"
        ON "wt2"."a1" = "wt0"."a2" AND "wt2"."a2" = "wt0"."a0"
      INNER JOIN "memory"."sqlrl"."domain_position" AS "wd3"
        ON "wd3"."example" = "wt0"."a0" AND "wd3"."id" = "wt1"."a0"
    ) AS "o21w"
    GROUP BY
      "o21w"."x0",
      "o21w"."x1",
      "o21w"."x2"
    HAVING
      COUNT(*) = 1
  ) AS "o21"
    ON "o21"."y0" = "f20"."a2"
    AND "o21"."y1" = "f20"."a1"
    AND "o21"."y2" = "f20"."a0"
    AND "o21"."y3" = "f20"."a1"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d22"
    ON "d22"."example" = "f20"."a2" AND "d22"."id" = "o21"."y4"
  GROUP BY
    "f20"."a1",
    "o21"."y4"
), "m11" AS (
  SELECT
    "f23"."a1" AS "s0",
    "f24"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f23"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "f24"
    ON "f24"."a0" = "f23"."a0" AND "f24"."a2" = "f23"."a2"
  INNER JOIN (
    SELECT DISTINCT
      "wt0"."a0" AS "x0",
      "wt0"."a2" AS "x1"
    FROM (
      SELECT
        "a"."a0",
        "a"."a1",
        "a"."a2"
      FROM "memory"."sqlrl"."atom_InField" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt0"
  ) AS "f25"
    ON "f25"."x0" = "f23"."a2" AND "f25"."x1" = "f23"."a1"
  GROUP BY
    "f23"."a1",
    "f24"."a1"
), "m12" AS (
  SELECT
    "f26"."a1" AS "s0",
    "f27"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f26"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "f27"
    ON "f27"."a0" = "f26"."a0" AND "f27"."a2" = "f26"."a2"
  INNER JOIN (
    SELECT DISTINCT
      "wt0"."a0" AS "x0",
      "wt1"."a0" AS "x1",
      "wt2"."a0" AS "x2"
    FROM (
      SELECT
        "a"."a0",
        "a"."a1",
        "a"."a2"
      FROM "memory"."sqlrl"."atom_InField" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt0"
    INNER JOIN "memory"."sqlrl"."fact_Next" AS "wt1"
      ON "wt1"."a1" = "wt0"."a2"
    INNER JOIN "memory"."sqlrl"."fact_Token" AS "wt2"
      ON "wt2"."a1" = "wt0"."a2" AND "wt2"."a2" = "wt0"."a0"
    INNER JOIN "memory"."sqlrl"."domain_position" AS "wd3"
      ON "wd3"."example" = "wt0"."a0" AND "wd3"."id" = "wt1"."a0"
  ) AS "f28"
    ON "f28"."x0" = "f26"."a2" AND "f28"."x1" = "f26"."a1" AND "f28"."x2" = "f26"."a0"
  INNER JOIN (
    SELECT DISTINCT
      "wt0"."a0" AS "x0",
      "wt0"."a2" AS "x1"
    FROM (
      SELECT
        "a"."a0",
        "a"."a1",
        "a"."a2"
      FROM "memory"."sqlrl"."atom_InField" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt0"
  ) AS "f29"
    ON "f29"."x0" = "f26"."a2" AND "f29"."x1" = "f27"."a1"
  GROUP BY
    "f26"."a1",
    "f27"."a1"
)
SELECT
  "part",
  "s0",
  "s1",
  "s2",
  "n"
FROM (
  SELECT
    0 AS "part",
    CAST("m0"."s0" AS INT) AS "s0",
    CAST("m0"."s1" AS INT) AS "s1",
    CAST("m0"."s2" AS INT) AS "s2",
    CAST("m0"."n" AS BIGINT) AS "n"
  FROM "m0" AS "m0"
  WHERE
    "m0"."n" <> 0
  UNION ALL
  SELECT
    1 AS "part",
    CAST("m1"."s0" AS INT) AS "s0",
    CAST("m1"."s1" AS INT) AS "s1",
    CAST("m1"."s2" AS INT) AS "s2",
    CAST("m1"."n" AS BIGINT) AS "n"
  FROM "m1" AS "m1"
  WHERE
    "m1"."n" <> 0
  UNION ALL
  SELECT
    2 AS "part",
    CAST("m2"."s0" AS INT) AS "s0",
    CAST("m2"."s1" AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST("m2"."n" AS BIGINT) AS "n"
  FROM "m2" AS "m2"
  WHERE
    "m2"."n" <> 0
  UNION ALL
  SELECT
    3 AS "part",
    CAST("m3"."s0" AS INT) AS "s0",
    CAST("m3"."s1" AS INT) AS "s1",
    CAST("m3"."s2" AS INT) AS "s2",
    CAST("m3"."n" AS BIGINT) AS "n"
  FROM "m3" AS "m3"
  WHERE
    "m3"."n" <> 0
  UNION ALL
  SELECT
    4 AS "part",
    CAST("m4"."s0" AS INT) AS "s0",
    CAST("m4"."s1" AS INT) AS "s1",
    CAST("m4"."s2" AS INT) AS "s2",
    CAST("m4"."n" AS BIGINT) AS "n"
  FROM "m4" AS "m4"
  WHERE
    "m4"."n" <> 0
  UNION ALL
  SELECT
    5 AS "part",
    CAST("m5"."s0" AS INT) AS "s0",
    CAST("m5"."s1" AS INT) AS "s1",
    CAST("m5"."s2" AS INT) AS "s2",
    CAST("m5"."n" AS BIGINT) AS "n"
  FROM "m5" AS "m5"
  WHERE
    "m5"."n" <> 0
  UNION ALL
  SELECT
    6 AS "part",
    CAST("m6"."s0" AS INT) AS "s0",
    CAST(NULL AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST("m6"."n" AS BIGINT) AS "n"
  FROM "m6" AS "m6"
  WHERE
    "m6"."n" <> 0
  UNION ALL
  SELECT
    7 AS "part",
    CAST("m7"."s0" AS INT) AS "s0",
    CAST("m7"."s1" AS INT) AS "s1",
    CAST("m7"."s2" AS INT) AS "s2",
    CAST("m7"."n" AS BIGINT) AS "n"
  FROM "m7" AS "m7"
  WHERE
    "m7"."n" <> 0
  UNION ALL
  SELECT
    8 AS "part",
    CAST("m8"."s0" AS INT) AS "s0",
    CAST("m8"."s1" AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST("m8"."n" AS BIGINT) AS "n"
  FROM "m8" AS "m8"
  WHERE
    "m8"."n" <> 0
  UNION ALL
  SELECT
    9 AS "part",
    CAST("m9"."s0" AS INT) AS "s0",
    CAST("m9"."s1" AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST("m9"."n" AS BIGINT) AS "n"
  FROM "m9" AS "m9"
  WHERE
    "m9"."n" <> 0
  UNION ALL
  SELECT
    10 AS "part",
    CAST("m10"."s0" AS INT) AS "s0",
    CAST("m10"."s1" AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST("m10"."n" AS BIGINT) AS "n"
  FROM "m10" AS "m10"
  WHERE
    "m10"."n" <> 0
  UNION ALL
  SELECT
    11 AS "part",
    CAST("m11"."s0" AS INT) AS "s0",
    CAST("m11"."s1" AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST("m11"."n" AS BIGINT) AS "n"
  FROM "m11" AS "m11"
  WHERE
    "m11"."n" <> 0
  UNION ALL
  SELECT
    12 AS "part",
    CAST("m12"."s0" AS INT) AS "s0",
    CAST("m12"."s1" AS INT) AS "s1",
    CAST(NULL AS INT) AS "s2",
    CAST("m12"."n" AS BIGINT) AS "n"
  FROM "m12" AS "m12"
  WHERE
    "m12"."n" <> 0
) AS "parts";
