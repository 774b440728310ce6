SELECT
  "b"."component",
  "b"."key",
  "b"."n"
FROM (
  SELECT
    "r"."component" AS "component",
    "k"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  CROSS JOIN (
    SELECT
      "f"."example",
      "f"."a0",
      COUNT(*) AS "n"
    FROM "db"."main"."says" AS "f"
    GROUP BY
      "f"."example",
      "f"."a0"
  ) AS "f"
  INNER JOIN "db"."main"."keys_02" AS "k"
    ON "k"."h0" = "f"."a0" AND "k"."h2" = "f"."example"
  WHERE
    "r"."pattern" = 0
  GROUP BY
    1,
    2
  UNION ALL
  SELECT
    "r"."component" AS "component",
    "p0"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN (
    SELECT
      "f"."example",
      "f"."a1",
      COUNT(*) AS "n"
    FROM "db"."main"."says" AS "f"
    GROUP BY
      "f"."example",
      "f"."a1"
  ) AS "f"
    ON "f"."example" = "p0"."h2" AND "f"."a1" = "p0"."places"["r"."x2"]
  WHERE
    "r"."pattern" = 1
  GROUP BY
    1,
    2
) AS "b"
ORDER BY
  "b"."component",
  "b"."key";
