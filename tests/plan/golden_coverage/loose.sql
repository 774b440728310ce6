SELECT
  "b"."component",
  "b"."key",
  "b"."h0",
  "b"."h1",
  "b"."h2",
  "b"."places"
FROM (
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    "p0"."h0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    CAST(NULL AS INT) AS "h2",
    LIST_CONCAT("p0"."places", "p1"."places") AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."wanted" AS "p1"
    ON "p1"."component" = "r"."p1"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."a1" = "p1"."places"["r"."x1"]
  WHERE
    "r"."pattern" = 0
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    CAST(NULL AS INT) AS "h0",
    "f"."a1" AS "h1",
    CAST(NULL AS INT) AS "h2",
    "p0"."places" AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"]
  INNER JOIN "db"."main"."keys_1" AS "k"
    ON "k"."h1" = "f"."a1"
  WHERE
    "r"."pattern" = 1
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p1"."key" AS "key",
    "p1"."h0" AS "h0",
    "p1"."h1" AS "h1",
    CAST(NULL AS INT) AS "h2",
    LIST_CONCAT("p0"."places", "p1"."places", "p2"."places") AS "places"
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
  UNION ALL
  SELECT
    "r"."component" AS "component",
    0 AS "key",
    CAST(NULL AS INT) AS "h0",
    CAST(NULL AS INT) AS "h1",
    CAST(NULL AS INT) AS "h2",
    LIST_CONCAT("p0"."places", ["f"."a0"]) AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."three" AS "f"
    ON "f"."a1" = "p0"."places"["r"."x1"] AND "f"."a2" = "r"."x2"
  WHERE
    "r"."pattern" = 3
) AS "b"
LIMIT 100;
