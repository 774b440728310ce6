SELECT
  "b"."component",
  "b"."key",
  "b"."n"
FROM (
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN (
    SELECT
      "f"."a0",
      COUNT(*) AS "n"
    FROM "db"."main"."friends" AS "f"
    GROUP BY
      "f"."a0"
  ) AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"]
  WHERE
    "r"."pattern" = 0
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"]
  INNER JOIN "db"."main"."keys_01" AS "k"
    ON "k"."h0" = "p0"."h0" AND "k"."h1" = "f"."a1"
  WHERE
    "r"."pattern" = 1
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    0 AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN (
    SELECT
      "p"."p0",
      "p"."x0",
      "p"."x1",
      SUM("p"."n") AS "n"
    FROM (
      SELECT
        "r"."p0" AS "p0",
        "r"."x0" AS "x0",
        "r"."x1" AS "x1",
        "w"."places"["r"."x0"] AS "v0",
        "w"."places"["r"."x1"] AS "v1",
        COUNT(*) AS "n"
      FROM (
        SELECT DISTINCT
          "q"."p0",
          "q"."x0",
          "q"."x1"
        FROM "db"."main"."layer" AS "q"
        WHERE
          "q"."pattern" = 2
      ) AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p0"
      GROUP BY
        1,
        2,
        3,
        4,
        5
    ) AS "p"
    INNER JOIN "db"."main"."friends" AS "f"
      ON "f"."a0" = "p"."v0" AND "f"."a1" = "p"."v1"
    GROUP BY
      "p"."p0",
      "p"."x0",
      "p"."x1"
  ) AS "f"
    ON "f"."p0" = "r"."p0" AND "f"."x0" = "r"."x0" AND "f"."x1" = "r"."x1"
  WHERE
    "r"."pattern" = 2
  GROUP BY
    1,
    2
) AS "b"
ORDER BY
  "b"."component",
  "b"."key";
