WITH "walks" AS (
  SELECT
    "f"."origin" AS "origin",
    "f"."path" * 6 + "e"."relation" AS "path",
    "e"."stop" AS "entity",
    "f"."m1" AS "m1",
    "f"."entity" AS "m2"
  FROM "db"."main"."passed" AS "f"
  INNER JOIN "db"."main"."edges" AS "e"
    ON "f"."entity" = "e"."start"
  WHERE
    "e"."stop" <> "f"."origin"
    AND "e"."stop" <> "f"."m1"
    AND "e"."stop" <> "f"."entity"
)
SELECT DISTINCT
  "origin",
  "path",
  "entity",
  "m1",
  "m2"
FROM "walks";
