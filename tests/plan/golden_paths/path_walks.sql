SELECT
  "t"."number" AS "number",
  CAST(SUM(CAST("f"."n" AS INT128) * CAST("b"."n" AS INT128)) AS INT128) AS "n"
FROM "db"."main"."pairs" AS "t"
INNER JOIN (
  SELECT
    "origin",
    "entity",
    COUNT(*) AS "n"
  FROM "db"."main"."one"
  GROUP BY
    "origin",
    "entity"
) AS "f"
  ON "f"."origin" = "t"."first"
INNER JOIN (
  SELECT
    "origin",
    "entity",
    COUNT(*) AS "n"
  FROM "db"."main"."two"
  GROUP BY
    "origin",
    "entity"
) AS "b"
  ON "b"."origin" = "t"."last" AND "b"."entity" = "f"."entity"
GROUP BY
  "t"."number"
ORDER BY
  "t"."number";
