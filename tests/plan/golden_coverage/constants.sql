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
    "p0"."places" AS "places"
  FROM "db"."main"."constants0" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0" AND "r"."a0" = "p0"."places"[2]
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    "p0"."h0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    "r"."example" AS "h2",
    "p0"."places" AS "places"
  FROM "db"."main"."constants1" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0" AND "r"."a0" = "p0"."places"[1]
  INNER JOIN "db"."main"."keys_02" AS "k"
    ON "k"."h0" = "p0"."h0" AND "k"."h2" = "r"."example"
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    "p0"."h0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    CAST(NULL AS INT) AS "h2",
    "p0"."places" AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."a1" = "r"."x1"
  WHERE
    "r"."pattern" = 2
) AS "b"
LIMIT 100;
