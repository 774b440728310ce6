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
    CAST(NULL AS INT) AS "h2",
    ["f"."a1"] AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."three" AS "f"
    ON "f"."a2" = "f"."a1"
  INNER JOIN "db"."main"."keys_0" AS "k"
    ON "k"."h0" = "f"."a0"
  WHERE
    "r"."pattern" = 0
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    "p0"."h0" AS "h0",
    CAST(NULL AS INT) AS "h1",
    CAST(NULL AS INT) AS "h2",
    LIST_CONCAT("p0"."places", ["f"."a0", "f"."a2"]) AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."three" AS "f"
    ON "f"."a1" = "p0"."places"["r"."x1"]
  WHERE
    "r"."pattern" = 1
) AS "b"
LIMIT 100;
