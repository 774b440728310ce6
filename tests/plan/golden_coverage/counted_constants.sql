SELECT
  "b"."component",
  "b"."key",
  "b"."n"
FROM (
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."constants0" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0" AND "r"."a0" = "p0"."places"[2]
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."constants1" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0" AND "r"."a0" = "p0"."places"[1]
  INNER JOIN "db"."main"."keys_02" AS "k"
    ON "k"."h0" = "p0"."h0" AND "k"."h2" = "r"."example"
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    COUNT(*) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN "db"."main"."friends" AS "f"
    ON "f"."a0" = "p0"."places"["r"."x0"] AND "f"."a1" = "r"."x1"
  WHERE
    "r"."pattern" = 2
  GROUP BY
    1,
    2
) AS "b"
ORDER BY
  "b"."component",
  "b"."key";
