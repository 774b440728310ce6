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
    "f"."a0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    "f"."example" AS "h2",
    ["f"."a1"] AS "places"
  FROM "db"."main"."layer" AS "r"
  CROSS JOIN "db"."main"."says" AS "f"
  INNER JOIN "db"."main"."keys_02" AS "k"
    ON "k"."h0" = "f"."a0" AND "k"."h2" = "f"."example"
  WHERE
    "r"."pattern" = 0
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    "p0"."h0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    "p0"."h2" AS "h2",
    LIST_CONCAT("p0"."places", ["f"."a0"]) AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."says" AS "f"
    ON "f"."example" = "p0"."h2" AND "f"."a1" = "p0"."places"["r"."x2"]
  WHERE
    "r"."pattern" = 1
) AS "b"
LIMIT 100;
