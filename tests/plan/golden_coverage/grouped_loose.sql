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
      "p"."p1",
      "p"."x1",
      "f"."a0",
      SUM("p"."n") AS "n"
    FROM (
      SELECT
        "r"."p1" AS "p1",
        "r"."x1" AS "x1",
        "w"."places"["r"."x1"] AS "v1",
        COUNT(*) AS "n"
      FROM (
        SELECT DISTINCT
          "q"."p1",
          "q"."x1"
        FROM "db"."main"."layer" AS "q"
        WHERE
          "q"."pattern" = 0
      ) AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p1"
      GROUP BY
        1,
        2,
        3
    ) AS "p"
    INNER JOIN "db"."main"."friends" AS "f"
      ON "f"."a1" = "p"."v1"
    GROUP BY
      "p"."p1",
      "p"."x1",
      "f"."a0"
  ) AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."p1" = "r"."p1" AND "f"."x1" = "r"."x1"
  WHERE
    "r"."pattern" = 0
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN (
    SELECT
      "p"."p0",
      "p"."x0",
      "f"."a1",
      SUM("p"."n") AS "n"
    FROM (
      SELECT
        "r"."p0" AS "p0",
        "r"."x0" AS "x0",
        "w"."places"["r"."x0"] AS "v0",
        COUNT(*) AS "n"
      FROM (
        SELECT DISTINCT
          "q"."p0",
          "q"."x0"
        FROM "db"."main"."layer" AS "q"
        WHERE
          "q"."pattern" = 1
      ) AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p0"
      GROUP BY
        1,
        2,
        3
    ) AS "p"
    INNER JOIN "db"."main"."friends" AS "f"
      ON "f"."a0" = "p"."v0"
    GROUP BY
      "p"."p0",
      "p"."x0",
      "f"."a1"
  ) AS "f"
    ON "f"."p0" = "r"."p0" AND "f"."x0" = "r"."x0"
  INNER JOIN "db"."main"."keys_1" AS "k"
    ON "k"."h1" = "f"."a1"
  WHERE
    "r"."pattern" = 1
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p1"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p1"
    ON "p1"."component" = "r"."p1"
  INNER JOIN (
    SELECT
      "r"."p0",
      "r"."p2",
      "r"."x0",
      "r"."x2",
      "f"."a1",
      SUM("p"."n" * "f"."n") AS "n"
    FROM (
      SELECT
        "r"."p2" AS "p2",
        "r"."x2" AS "x2",
        "w"."places"["r"."x2"] AS "v2",
        COUNT(*) AS "n"
      FROM (
        SELECT DISTINCT
          "q"."p2",
          "q"."x2"
        FROM "db"."main"."layer" AS "q"
        WHERE
          "q"."pattern" = 2
      ) AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p2"
      GROUP BY
        1,
        2,
        3
    ) AS "p"
    INNER JOIN (
      SELECT DISTINCT
        "q"."p0",
        "q"."p2",
        "q"."x0",
        "q"."x2"
      FROM "db"."main"."layer" AS "q"
      WHERE
        "q"."pattern" = 2
    ) AS "r"
      ON "p"."p2" = "r"."p2" AND "p"."x2" = "r"."x2"
    INNER JOIN (
      SELECT
        "p"."p0",
        "p"."x0",
        "f"."a1",
        "f"."a2",
        SUM("p"."n") AS "n"
      FROM (
        SELECT
          "r"."p0" AS "p0",
          "r"."x0" AS "x0",
          "w"."places"["r"."x0"] AS "v0",
          COUNT(*) AS "n"
        FROM (
          SELECT DISTINCT
            "q"."p0",
            "q"."x0"
          FROM "db"."main"."layer" AS "q"
          WHERE
            "q"."pattern" = 2
        ) AS "r"
        INNER JOIN "db"."main"."wanted" AS "w"
          ON "w"."component" = "r"."p0"
        GROUP BY
          1,
          2,
          3
      ) AS "p"
      INNER JOIN "db"."main"."three" AS "f"
        ON "f"."a0" = "p"."v0"
      GROUP BY
        "p"."p0",
        "p"."x0",
        "f"."a1",
        "f"."a2"
    ) AS "f"
      ON "f"."a2" = "p"."v2" AND "f"."p0" = "r"."p0" AND "f"."x0" = "r"."x0"
    GROUP BY
      "r"."p0",
      "r"."p2",
      "r"."x0",
      "r"."x2",
      "f"."a1"
  ) AS "f"
    ON "f"."a1" = "p1"."places"["r"."x1"]
    AND "f"."p0" = "r"."p0"
    AND "f"."p2" = "r"."p2"
    AND "f"."x0" = "r"."x0"
    AND "f"."x2" = "r"."x2"
  WHERE
    "r"."pattern" = 2
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
      "r"."p0",
      "r"."x1",
      "r"."x2",
      SUM("p"."n") AS "n"
    FROM (
      SELECT
        "r"."p0" AS "p0",
        "r"."x1" AS "x1",
        "w"."places"["r"."x1"] AS "v1",
        COUNT(*) AS "n"
      FROM (
        SELECT DISTINCT
          "q"."p0",
          "q"."x1"
        FROM "db"."main"."layer" AS "q"
        WHERE
          "q"."pattern" = 3
      ) AS "r"
      INNER JOIN "db"."main"."wanted" AS "w"
        ON "w"."component" = "r"."p0"
      GROUP BY
        1,
        2,
        3
    ) AS "p"
    INNER JOIN (
      SELECT DISTINCT
        "q"."p0",
        "q"."x1",
        "q"."x2"
      FROM "db"."main"."layer" AS "q"
      WHERE
        "q"."pattern" = 3
    ) AS "r"
      ON "p"."p0" = "r"."p0" AND "p"."x1" = "r"."x1"
    INNER JOIN "db"."main"."three" AS "f"
      ON "f"."a1" = "p"."v1" AND "f"."a2" = "r"."x2"
    GROUP BY
      "r"."p0",
      "r"."x1",
      "r"."x2"
  ) AS "f"
    ON "f"."p0" = "r"."p0" AND "f"."x1" = "r"."x1" AND "f"."x2" = "r"."x2"
  WHERE
    "r"."pattern" = 3
  GROUP BY
    1,
    2
) AS "b"
ORDER BY
  "b"."component",
  "b"."key";
