SELECT
  "b"."component",
  "b"."key",
  "b"."n"
FROM (
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."wanted" AS "p1"
    ON "p1"."component" = "r"."p1"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."a1" = "p1"."places"["r"."x1"]
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
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."wanted" AS "p1"
    ON "p1"."component" = "r"."p1"
  INNER JOIN "db"."main"."wanted" AS "p2"
    ON "p2"."component" = "r"."p2"
  INNER JOIN "db"."main"."three" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"]
    AND "f"."a1" = "p1"."places"["r"."x1"]
    AND "f"."a2" = "p2"."places"["r"."x2"]
  WHERE
    "r"."pattern" = 2
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    0 AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."three" AS "f"
    ON "f"."a1" = "p0"."places"["r"."x1"] AND "f"."a2" = "r"."x2"
  WHERE
    "r"."pattern" = 3
  GROUP BY
    1,
    2
) AS "b"
ORDER BY
  "b"."component",
  "b"."key";
