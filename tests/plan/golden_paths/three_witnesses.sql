WITH "walks" AS (
  SELECT
    "f"."origin" AS "origin",
    "e"."relation" * 6 + "f"."path" AS "path",
    "e"."start" AS "entity",
    "f"."entity" AS "m1"
  FROM "db"."main"."last" AS "f"
  INNER JOIN "db"."main"."edges" AS "e"
    ON "f"."entity" = "e"."stop"
)
SELECT
  "r"."origin",
  "r"."path",
  "r"."entity",
  MAX(CASE WHEN "r"."place" = 1 THEN "r"."m1" END) AS "w1",
  MAX(CASE WHEN "r"."place" = 2 THEN "r"."m1" END) AS "w2",
  MAX(CASE WHEN "r"."place" = 3 THEN "r"."m1" END) AS "w3"
FROM (
  SELECT
    "origin",
    "path",
    "entity",
    "m1",
    ROW_NUMBER() OVER (PARTITION BY "origin", "path", "entity" ORDER BY "m1") AS "place"
  FROM "walks"
) AS "r"
WHERE
  "r"."place" <= 3
GROUP BY
  "r"."origin",
  "r"."path",
  "r"."entity";
