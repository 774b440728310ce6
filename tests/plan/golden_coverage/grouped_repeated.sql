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
      "f"."a0",
      COUNT(*) AS "n"
    FROM "db"."main"."three" AS "f"
    WHERE
      "f"."a2" = "f"."a1"
    GROUP BY
      "f"."a0"
  ) AS "f"
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
    "p0"."key" AS "key",
    CAST(SUM("f"."n") AS BIGINT) AS "n"
  FROM "db"."main"."layer" AS "r"
  INNER JOIN "db"."main"."wanted" AS "p0"
    ON "p0"."component" = "r"."p0"
  INNER JOIN (
    SELECT
      "f"."a1",
      COUNT(*) AS "n"
    FROM "db"."main"."three" AS "f"
    GROUP BY
      "f"."a1"
  ) AS "f"
    ON "f"."a1" = "p0"."places"["r"."x1"]
  WHERE
    "r"."pattern" = 1
  GROUP BY
    1,
    2
) AS "b"
ORDER BY
  "b"."component",
  "b"."key";
