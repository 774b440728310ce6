WITH "walks" AS (
  SELECT
    "f"."origin" AS "origin",
    "e"."relation" AS "path",
    "e"."stop" AS "entity"
  FROM "db"."main"."starts" AS "f"
  INNER JOIN "db"."main"."edges" AS "e"
    ON "f"."origin" = "e"."start"
  WHERE
    "e"."stop" <> "f"."origin"
)
SELECT
  "r"."origin",
  "r"."path",
  "r"."entity"
FROM "walks" AS "r"
GROUP BY
  "r"."origin",
  "r"."path",
  "r"."entity";
