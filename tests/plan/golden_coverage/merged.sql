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
    "k"."key" AS "key",
    "p0"."h0" AS "h0",
    "p1"."h1" AS "h1",
    CAST(NULL AS INT) AS "h2",
    LIST_CONCAT("p0"."places", "p1"."places") AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."wanted" AS "p1"
    ON "p1"."component" = "r"."p1"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."a1" = "p1"."places"["r"."x1"]
  INNER JOIN "db"."main"."keys_01" AS "k"
    ON "k"."h0" = "p0"."h0" AND "k"."h1" = "p1"."h1"
  WHERE
    "r"."pattern" = 0
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    "p0"."h0" AS "h0",
    "p0"."h1" AS "h1",
    CAST(NULL AS INT) AS "h2",
    LIST_CONCAT("p0"."places", "p1"."places") AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."wanted" AS "p1"
    ON "p1"."component" = "r"."p1" AND "p1"."h1" = "p0"."h1"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."a1" = "p1"."places"["r"."x1"]
  WHERE
    "r"."pattern" = 1
) AS "b"
LIMIT 100;
