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
  CROSS JOIN "db"."main"."friends" AS "f"
  INNER JOIN "db"."main"."keys_0" AS "k"
    ON "k"."h0" = "f"."a0"
  WHERE
    "r"."pattern" = 0
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    "f"."a0" AS "h0",
    "f"."a1" AS "h1",
    CAST(NULL AS INT) AS "h2",
    CAST([] AS INT[]) AS "places"
  FROM "db"."main"."layer" AS "r"
  CROSS JOIN "db"."main"."friends" AS "f"
  INNER JOIN "db"."main"."keys_01" AS "k"
    ON "k"."h0" = "f"."a0" AND "k"."h1" = "f"."a1"
  WHERE
    "r"."pattern" = 1
  UNION ALL
  SELECT
    "r"."component" AS "component",
    0 AS "key",
    CAST(NULL AS INT) AS "h0",
    CAST(NULL AS INT) AS "h1",
    CAST(NULL AS INT) AS "h2",
    ["f"."a0"] AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a1" = "f"."a0"
  WHERE
    "r"."pattern" = 2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    CAST(NULL AS INT) AS "h0",
    "f"."a0" AS "h1",
    CAST(NULL AS INT) AS "h2",
    CAST([] AS INT[]) AS "places"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a1" = "r"."x1"
  INNER JOIN "db"."main"."keys_1" AS "k"
    ON "k"."h1" = "f"."a0"
  WHERE
    "r"."pattern" = 3
  UNION ALL
  SELECT
    "r"."component" AS "component",
    0 AS "key",
    CAST(NULL AS INT) AS "h0",
    CAST(NULL AS INT) AS "h1",
    CAST(NULL AS INT) AS "h2",
    CAST([] AS INT[]) AS "places"
  FROM "db"."main"."layer" AS "r"
  CROSS JOIN "db"."main"."rains" AS "f"
  WHERE
    "r"."pattern" = 4
) AS "b"
LIMIT 100;
