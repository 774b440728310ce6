SELECT
  "b"."component",
  "b"."key",
  "b"."n"
FROM (
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  CROSS JOIN "db"."main"."friends" AS "f"
  INNER JOIN "db"."main"."keys_0" AS "k"
    ON "k"."h0" = "f"."a0"
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
  CROSS JOIN "db"."main"."friends" AS "f"
  INNER JOIN "db"."main"."keys_01" AS "k"
    ON "k"."h0" = "f"."a0" AND "k"."h1" = "f"."a1"
  WHERE
    "r"."pattern" = 1
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    0 AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a1" = "f"."a0"
  WHERE
    "r"."pattern" = 2
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a1" = "r"."x1"
  INNER JOIN "db"."main"."keys_1" AS "k"
    ON "k"."h1" = "f"."a0"
  WHERE
    "r"."pattern" = 3
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    0 AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  CROSS JOIN "db"."main"."rains" AS "f"
  WHERE
    "r"."pattern" = 4
  GROUP BY
    1,
    2
) AS "b"
ORDER BY
  "b"."component",
  "b"."key";
